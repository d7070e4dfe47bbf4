import type { BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import { isAIMessageChunk, textOf } from "@millrace/engine/message-kinds";

/** A model's answer as far as it was streamed to the run's readers. */
export const StreamedAnswer = z.object({
  /** The message id in the stream. */
  id: z.string().optional(),
  text: z.string(),
  reasoning: z.string(),
  /** Tool calls so far; `args` is partial text, mostly not valid JSON yet. */
  calls: z.array(z.object({ id: z.string().optional(), name: z.string(), args: z.string() })),
});
export type StreamedAnswer = z.infer<typeof StreamedAnswer>;

/** Messages added by one loop call, including those not in a checkpoint yet. */
export interface LoopRecord {
  /** LangGraph's path of the task that called the loop (`node:task`). */
  task: string;
  /** Its messages are not part of the session. */
  silent: boolean;
  messages: BaseMessage[];
}

/**
 * Work of a run since its last checkpoint, kept in memory so that a stop loses none of it. `recordChunk` gets exactly what
 * was streamed to readers.
 */
export interface Progress {
  readonly records: readonly LoopRecord[];
  begin(task: string, silent: boolean): LoopRecord;
  /** Adds a streamed chunk; `path` is its task's. */
  recordChunk(path: string, message: BaseMessage): void;
  /** The part streamed of the answer this task waits for. */
  streamedAnswer(path: string): StreamedAnswer | undefined;
  /** Marks the task's model call as over: its answer is complete, or it failed. */
  answered(path: string): void;
  /** Answers that were partly streamed and never became a message. */
  unfinished(): StreamedAnswer[];
}

/** Creates an empty progress. */
export function createProgress(): Progress {
  const records: LoopRecord[] = [];
  const open = new Map<string, StreamedAnswer>();
  const over = new Set<string>();
  return {
    records,
    begin(task, silent) {
      const record: LoopRecord = { task, silent, messages: [] };
      records.push(record);
      return record;
    },
    recordChunk(path, message) {
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
    streamedAnswer(path) {
      const answer = open.get(path);
      return answer && withoutHoles(answer);
    },
    answered(path) {
      over.add(path);
      open.delete(path);
    },
    unfinished() {
      // Of nested loop calls, the innermost decides whether its answer belongs to the session.
      const innermost = records.toSorted((left, right) => right.task.length - left.task.length);
      return [...open]
        .filter(([path]) => innermost.find(({ task }) => path.startsWith(`${task}|`))?.silent === false)
        .map(([, answer]) => withoutHoles(answer));
    },
  };
}

/** Providers number calls freely, even by time, so the array may have holes. */
function withoutHoles(answer: StreamedAnswer): StreamedAnswer {
  return { ...answer, calls: Object.values(answer.calls) };
}

/** Appends messages whose id is new. */
export function addMessages(record: Pick<LoopRecord, "messages">, messages: readonly BaseMessage[]): void {
  for (const message of messages) {
    if (!record.messages.some(({ id }) => id === message.id)) record.messages.push(message);
  }
}
