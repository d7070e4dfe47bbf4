import type { BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import { isAIMessageChunk, textOf } from "@millrace/engine/message-kinds";

/** A model's answer as far as the run's readers were told it. */
export const HeardAnswer = z.object({
  /** The message id that the stream gave. */
  id: z.string().optional(),
  text: z.string(),
  reasoning: z.string(),
  /** Tool calls as far as they came; `args` is the text so far, mostly not yet JSON. */
  calls: z.array(z.object({ id: z.string().optional(), name: z.string(), args: z.string() })),
});
export type HeardAnswer = z.infer<typeof HeardAnswer>;

/** What one call of the loop has added, also where no checkpoint holds it yet. */
export interface LoopRecord {
  /** LangGraph's path of the task that called the loop (`node:task`). */
  task: string;
  /** Its messages are for the program, not for the session. */
  silent: boolean;
  messages: BaseMessage[];
}

/**
 * What a run has done beyond its last checkpoint, kept in memory so that a stop loses none of it. `heard` is filled by
 * whoever tells the readers, so what is kept is what was told, byte for byte.
 */
export interface Progress {
  readonly records: readonly LoopRecord[];
  begin(task: string, silent: boolean): LoopRecord;
  /** A chunk that the readers were told; `path` is that of the task it comes from. */
  heard(path: string, message: BaseMessage): void;
  /** What the readers were told of the answer that this task waits for. */
  heardOf(path: string): HeardAnswer | undefined;
  /** The model call of this task is over: its answer is a whole message, or it failed. */
  answered(path: string): void;
  /** The answers that readers saw begin and that never became a message of a loop. */
  unfinished(): HeardAnswer[];
}

/** The progress of one run, empty. */
export function createProgress(): Progress {
  const records: LoopRecord[] = [];
  const open = new Map<string, HeardAnswer>();
  const over = new Set<string>();
  return {
    records,
    begin(task, silent) {
      const record: LoopRecord = { task, silent, messages: [] };
      records.push(record);
      return record;
    },
    heard(path, message) {
      if (!isAIMessageChunk(message) || over.has(path)) return;
      let answer = open.get(path);
      if (answer === undefined || answer.id !== message.id) {
        answer = { id: message.id, text: "", reasoning: "", calls: [] };
        open.set(path, answer);
      }
      answer.text += textOf(message.content);
      const reasoning = message.additional_kwargs["reasoning_content"];
      if (typeof reasoning === "string") answer.reasoning += reasoning;
      for (const piece of message.tool_call_chunks ?? []) {
        const index = piece.index ?? answer.calls.length;
        const call = (answer.calls[index] ??= { id: piece.id, name: "", args: "" });
        call.name += piece.name ?? "";
        call.args += piece.args ?? "";
      }
    },
    heardOf(path) {
      const answer = open.get(path);
      return answer && withoutHoles(answer);
    },
    answered(path) {
      over.add(path);
      open.delete(path);
    },
    unfinished() {
      // Of calls of the loop inside each other, the innermost says whether its answer is the session's.
      const innermost = records.toSorted((left, right) => right.task.length - left.task.length);
      return [...open]
        .filter(([path]) => innermost.find(({ task }) => path.startsWith(`${task}|`))?.silent === false)
        .map(([, answer]) => withoutHoles(answer));
    },
  };
}

/** A provider may number its calls as it likes, also by the time: only those that are there are looked at. */
function withoutHoles(answer: HeardAnswer): HeardAnswer {
  return { ...answer, calls: Object.values(answer.calls) };
}

/** Adds what is new, in order; a message that is there already stays where it is. */
export function addMessages(record: Pick<LoopRecord, "messages">, messages: readonly BaseMessage[]): void {
  for (const message of messages) {
    if (!record.messages.some(({ id }) => id === message.id)) record.messages.push(message);
  }
}
