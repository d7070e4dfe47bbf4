import type { BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import type { RunEvent } from "../../../run-events.ts";
import {
  isAIMessage,
  isBaseMessage,
  isBaseMessageChunk,
  isHumanMessage,
  isToolMessage,
  messageText,
} from "../../../message-kinds.ts";
import { PendingInterrupt, type Run, type RunError } from "../../../storage/records.ts";
import { SupersededMessages } from "../../responses/superseded-messages.ts";

/** A piece of a turn's output, or that what came of a message does not count: it is said anew. `id` is its message's. */
export type TurnItem = { type: "text" | "reasoning"; id: string; text: string } | { type: "lost"; id: string };

/** A call for the client to run. `args` is JSON. */
export interface ClientCall {
  id: string;
  name: string;
  args: string;
}

/** A turn's usage in tokens. */
export interface TurnUsage {
  input: number;
  output: number;
  cached: number;
  reasoning: number;
}

/** The outcome of a run. */
export interface TurnResult {
  calls: ClientCall[];
  /** What waits for a person. */
  questions: PendingInterrupt[];
  usage: TurnUsage;
  /** The last answer reached its length limit. */
  isCut: boolean;
  error: RunError | undefined;
}

const Interrupted = z.looseObject({ __interrupt__: z.array(PendingInterrupt) });
const CallForClient = z.looseObject({
  kind: z.literal("client_tool"),
  tool_call_id: z.string(),
  tool: z.string(),
  args: z.record(z.string(), z.unknown()).default({}),
});
const Counted = z.looseObject({
  type: z.literal("token_usage"),
  input_tokens: z.number(),
  output_tokens: z.number(),
  cached_tokens: z.number().default(0),
});
const UsageOfMessage = z.looseObject({
  input_tokens: z.number().default(0),
  output_tokens: z.number().default(0),
  input_token_details: z.looseObject({ cache_read: z.number().optional() }).optional(),
  output_token_details: z.looseObject({ reasoning: z.number().optional() }).optional(),
});
const Finished = z.looseObject({ finish_reason: z.string().optional(), stop_reason: z.string().nullish() });
const Thought = z.looseObject({ reasoning_content: z.string() });

/**
 * Reads a run's events as a turn: the same events always give the same turn. If the run answers a question, earlier
 * output was already sent by the run that asked.
 */
export class TurnReader {
  readonly #isResumed: boolean;
  /** Emitted text by message id. */
  readonly #emitted = new Map<string, string>();
  readonly #anew = new SupersededMessages();
  readonly #usages = new Map<string, TurnUsage>();
  readonly #counted: TurnUsage[] = [];
  /** Calls without a result. */
  readonly #open = new Map<string, ClientCall>();
  #questions: PendingInterrupt[] = [];
  #isCut = false;
  #error: RunError | undefined;

  constructor({ kwargs }: Pick<Run, "kwargs">) {
    this.#isResumed = kwargs.command?.["resume"] !== undefined;
  }

  /** The pieces in an event of the run. */
  read(event: RunEvent): TurnItem[] {
    switch (event.event) {
      case "messages":
        return isBaseMessage(event.data) && isAIMessage(event.data)
          ? [...this.#lose(event), ...this.#emit(event.data, isBaseMessageChunk(event.data))]
          : [];
      case "metadata":
        return this.#lose(event);
      case "updates":
        return event.namespace.length === 0 ? this.#readUpdate(event.data) : [];
      case "custom":
        this.#count(event.data);
        return [];
      case "error":
        this.#error = event.data;
        return [];
      default:
        return [];
    }
  }

  /** The outcome when the run is over. */
  result(): TurnResult {
    const own = this.#questions.flatMap(({ value }) => CallForClient.safeParse(value).data ?? []);
    const calls = own.map(({ tool_call_id: id, tool: name, args }) => ({ id, name, args: JSON.stringify(args) }));
    return {
      calls: this.#questions.length > 0 ? calls : [...this.#open.values()],
      questions: this.#questions.filter(({ value }) => !CallForClient.safeParse(value).success),
      // Our own loop counts every model call, including those that are not messages.
      usage: sumOf(this.#counted.length > 0 ? this.#counted : [...this.#usages.values()]),
      isCut: this.#isCut,
      error: this.#error,
    };
  }

  #lose(event: RunEvent): TurnItem[] {
    const lost = this.#anew.read(event).filter((id) => this.#emitted.delete(id));
    return lost.map((id) => ({ type: "lost", id }));
  }

  #emit(message: BaseMessage, isPiece: boolean): TurnItem[] {
    const { id = "" } = message;
    if (!isPiece && this.#emitted.has(id)) return [];
    // A step may return its model's message without the id under which it was streamed.
    const words = messageText(message);
    if (!isPiece && words !== "" && [...this.#emitted.values()].includes(words)) return [];
    const emitted = [
      { type: "reasoning" as const, id, text: thoughtsOf(message) },
      { type: "text" as const, id, text: words },
    ].filter(({ text }) => text !== "");
    if (emitted.length > 0) this.#emitted.set(id, (this.#emitted.get(id) ?? "") + words);
    return emitted;
  }

  #readUpdate(data: Record<string, unknown>): TurnItem[] {
    const waiting = Interrupted.safeParse(data).data?.__interrupt__ ?? [];
    const others = this.#questions.filter(({ id }) => waiting.every((one) => one.id !== id));
    this.#questions = [...others, ...waiting];
    return Object.values(data).flatMap((update) => {
      const messages = newestTurn(messagesOf(update));
      return messages.flatMap((message) => this.#take(message, message === messages.at(-1)));
    });
  }

  /** Reads a step's output: whole messages that were not streamed, including a nested graph's. */
  #take(message: BaseMessage, isLast: boolean): TurnItem[] {
    if (isToolMessage(message)) this.#open.delete(message.tool_call_id);
    if (!isAIMessage(message)) return [];
    this.#open.clear();
    for (const { id = "", name, args } of message.tool_calls ?? []) {
      this.#open.set(id, { id, name, args: JSON.stringify(args) });
    }
    const usage = UsageOfMessage.safeParse(message.usage_metadata).data;
    if (usage !== undefined && message.id !== undefined) this.#usages.set(message.id, toUsage(usage));
    const { finish_reason, stop_reason } = Finished.safeParse(message.response_metadata).data ?? {};
    this.#isCut = finish_reason === "length" || stop_reason === "max_tokens";
    return this.#isResumed && !isLast ? [] : this.#emit(message, false);
  }

  #count(data: unknown): void {
    const used = Counted.safeParse(data).data;
    if (used === undefined) return;
    this.#counted.push({
      input: used.input_tokens,
      output: used.output_tokens,
      cached: used.cached_tokens,
      reasoning: 0,
    });
  }
}

/** What a step writes into `messages`. */
function messagesOf(update: unknown): BaseMessage[] {
  const parts: unknown[] = Array.isArray(update) ? update : [update];
  return parts.flatMap((part) => {
    if (typeof part !== "object" || part === null || !("messages" in part)) return [];
    const messages: unknown[] = Array.isArray(part.messages) ? part.messages : [part.messages];
    return messages.filter((message) => isBaseMessage(message));
  });
}

/** A nested graph returns the whole conversation. */
function newestTurn(messages: BaseMessage[]): BaseMessage[] {
  return messages.slice(messages.findLastIndex((message) => isHumanMessage(message)) + 1);
}

/** A model's reasoning, if its vendor reveals it. */
function thoughtsOf({ content, additional_kwargs }: BaseMessage): string {
  const reasoning = Thought.safeParse(additional_kwargs).data?.reasoning_content;
  if (reasoning !== undefined || typeof content === "string") return reasoning ?? "";
  const thoughts = content.map((part) => {
    const thought: unknown =
      part.type === "thinking" ? part["thinking"] : part.type === "reasoning" ? part["reasoning"] : "";
    return typeof thought === "string" ? thought : "";
  });
  return thoughts.join("");
}

function toUsage(usage: z.infer<typeof UsageOfMessage>): TurnUsage {
  return {
    input: usage.input_tokens,
    output: usage.output_tokens,
    cached: usage.input_token_details?.cache_read ?? 0,
    reasoning: usage.output_token_details?.reasoning ?? 0,
  };
}

function sumOf(usages: readonly TurnUsage[]): TurnUsage {
  return usages.reduce(
    (sum, { input, output, cached, reasoning }) => ({
      input: sum.input + input,
      output: sum.output + output,
      cached: sum.cached + cached,
      reasoning: sum.reasoning + reasoning,
    }),
    { input: 0, output: 0, cached: 0, reasoning: 0 },
  );
}
