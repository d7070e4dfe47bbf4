import type { RunEvent } from "../../../run-events.ts";
import type { JsonObject, Run } from "../../../storage/records.ts";
import type { HttpContext, HttpServices } from "../../environment.ts";
import { frameLength } from "../../responses/frames.ts";
import { namedLanguage } from "../../responses/wire.ts";
import { questionText } from "../../requests/thread.ts";
import { cancelAfterDisconnect } from "../../requests/runs.ts";
import { readQuestion } from "../../../sessions/questions/questions.ts";
import { sendEvents } from "../../responses/sse.ts";
import { type TurnItem, TurnReader, type TurnResult } from "./turn-reader.ts";
import { createHash } from "node:crypto";
import type { BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import { isAIMessage, isHumanMessage, messageText } from "../../../message-kinds.ts";
import { OpenAiProblem } from "../problem.ts";

/** One piece of a turn, or its end. `question` is the pending question as text, sent after the assistant's. */
export type TurnEvent = { item: TurnItem } | { end: TurnResult; run: Run; question: string };

/** The stream's events, and those that only measure how far its reader is behind. */
type StreamedEvent = TurnEvent | { behind: RunEvent };

/** The events without what was lost after it, and without that this is said. */
export function withoutLost(events: readonly TurnEvent[]): TurnEvent[] {
  const kept: TurnEvent[] = [];
  const lost = new Set<string>();
  for (const event of events.toReversed()) {
    if ("item" in event && event.item.type === "lost") lost.add(event.item.id);
    else if (!("item" in event) || !lost.has(event.item.id)) kept.push(event);
  }
  return kept.toReversed();
}

/** Follows a run as a turn, from beginning to end. Throws `server` if the server stops first. */
export async function* followTurn(
  { runs }: HttpServices,
  context: HttpContext,
  run: Run,
  signal: AbortSignal,
): AsyncGenerator<TurnEvent[]> {
  const reader = new TurnReader(run);
  for await (const batch of runs.followBatches(run, -1, signal)) {
    yield batch.flatMap((event) => reader.read(event).map((item) => ({ item })));
  }
  const end = reader.result();
  const language = namedLanguage(context);
  const questions = end.questions.map(
    ({ value }) => questionText(readQuestion(value), language) ?? JSON.stringify(value),
  );
  // If the row was deleted with a temporary thread, its events are all there is.
  const over = (await runs.get(run.run_id)) ?? { ...run, status: end.error === undefined ? "success" : "error" };
  yield [{ end, run: over, question: questions.join("\n\n") }];
}

/** How a client follows a turn. */
export interface Following {
  /** Pieces as server-sent events. */
  frame: (event: TurnEvent) => string;
  /** Changes what has come before anything is made of it. */
  tidy?: (events: readonly TurnEvent[]) => TurnEvent[];
  /** Called before the end is sent. */
  onEnd?: () => Promise<void>;
  /** Called with everything before it is written. */
  onItems?: (events: readonly TurnEvent[]) => void;
  cancels: boolean;
}

/** Streams a turn. */
export function streamTurn(
  services: HttpServices,
  context: HttpContext,
  run: Run,
  { frame, tidy, onItems, onEnd, cancels }: Following,
): Response {
  return sendEvents<StreamedEvent>(context, {
    // A model may think for long before its first token.
    mayBeQuiet: true,
    open: async function* (signal) {
      for await (const followed of followTurn(services, context, run, signal)) {
        const batch = tidy?.(followed) ?? followed;
        onItems?.(batch);
        if (batch.some((event) => "end" in event)) await onEnd?.();
        yield batch;
      }
    },
    tail: async function* (signal) {
      for await (const batch of services.runs.tail(run, signal)) yield batch.map((behind) => ({ behind }));
    },
    measure: (event) => ("behind" in event ? frameLength(event.behind, {}) : 0),
    frame: (event) => ("behind" in event ? "" : frame(event)),
    headers: { "x-thread-id": run.session_id },
    logger: services.logger,
    ...(cancels && { onDisconnect: () => cancelAfterDisconnect(services, run) }),
  });
}

/** Waits for a turn; `undefined` if the client disconnects first. */
export async function wholeTurn(
  services: HttpServices,
  context: HttpContext,
  run: Run,
  cancels: boolean,
): Promise<TurnEvent[] | undefined> {
  const { outgoing } = context.env;
  const gone = new AbortController();
  const onClose = (): void => {
    gone.abort();
    if (cancels) cancelAfterDisconnect(services, run);
  };
  outgoing.once("close", onClose);
  // It disconnected while the run was starting, so no `close` event will follow.
  if (outgoing.destroyed) onClose();
  const events: TurnEvent[] = [];
  try {
    for await (const batch of followTurn(services, context, run, gone.signal)) events.push(...batch);
  } catch (error) {
    if (!gone.signal.aborted) throw error;
  } finally {
    outgoing.off("close", onClose);
  }
  return gone.signal.aborted ? undefined : events;
}

/** Whether a disconnect ends the run: as with OpenAI, unless the client may return or has said otherwise. */
export function cancelsOnLeave(context: HttpContext): boolean {
  return context.req.header("x-on-disconnect") !== "continue" && context.req.header("idempotency-key") === undefined;
}

/** The assistant's id, its graph's id or its name. */
export const ModelName = z.string().min(1).max(500);
/** The name of a client's tool. */
export const FunctionName = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/u, { error: "expected 1 to 64 letters, digits, _ or -" });
/** Metadata to store with the request; `thread_id` names the thread. */
export const Metadata = z.record(z.string().max(64), z.union([z.string().max(512), z.number(), z.boolean()])).nullish();

/** A client's message, from either API. Non-text content consists of LangChain's content blocks. */
export type InputMessage = { content: string | JsonObject[] } & (
  | { role: "system" }
  | { role: "user" }
  | { role: "assistant"; calls: { id: string; name: string; args: string }[] }
  | { role: "tool"; call: string }
);

/** The text of a message. */
export function wordsOf({ content }: InputMessage): string {
  if (typeof content === "string") return content;
  return content.map((part) => (part["type"] === "text" ? String(part["text"]) : "")).join("");
}

/** The messages in the form graphs accept. */
export function toGraphMessages(messages: readonly InputMessage[]): JsonObject[] {
  return messages.map((message): JsonObject => {
    const { content } = message;
    switch (message.role) {
      case "assistant":
        return {
          role: "assistant",
          content,
          tool_calls: message.calls.map(({ id, name, args }) => ({
            id,
            name,
            args: argumentsOf(args),
            type: "tool_call",
          })),
        };
      case "tool":
        return { role: "tool", content, tool_call_id: message.call };
      default:
        return { role: message.role, content };
    }
  });
}

const Arguments = z.record(z.string(), z.unknown());

function argumentsOf(text: string): JsonObject {
  try {
    return Arguments.parse(JSON.parse(text === "" ? "{}" : text));
  } catch {
    throw new OpenAiProblem(
      "invalid_parameter",
      "invalid_value",
      `Arguments of a tool call are no JSON object: ${text.slice(0, 100)}`,
      "messages",
    );
  }
}

/** The new messages of an answered conversation: all after the assistant's last message. */
export function afterAnswer(messages: readonly InputMessage[]): InputMessage[] {
  return messages.slice(messages.findLastIndex(({ role }) => role === "assistant") + 1);
}

/**
 * The messages of a request that are new to the thread; the last answer and all before it are history. User messages
 * left unanswered at the thread's end by a failed run are not added twice. Throws `history_differs` if the thread's
 * user messages differ from the history.
 */
export function newMessages(messages: readonly InputMessage[], known: readonly BaseMessage[]): InputMessage[] {
  const fresh = afterAnswer(messages).filter(({ role }) => role !== "system");
  const history = messages.slice(0, messages.findLastIndex(({ role }) => role === "assistant") + 1);
  const answered = known.slice(0, known.findLastIndex((message) => isAIMessage(message)) + 1);
  const clientTexts = history.filter(({ role }) => role === "user").map((message) => wordsOf(message).trim());
  if (!isHistoryOf(clientTexts, textsOf(answered))) throw differs();
  const waiting = textsOf(known.slice(answered.length));
  const begin = fresh.map((message) => wordsOf(message).trim()).slice(0, waiting.length);
  return waiting.length > 0 && waiting.every((text, index) => text === begin[index])
    ? fresh.slice(waiting.length)
    : fresh;
}

function textsOf(messages: readonly BaseMessage[]): string[] {
  return messages.filter((message) => isHumanMessage(message)).map((message) => messageText(message).trim());
}

/**
 * Whether the client's user messages can be those of a thread. It may have dropped the oldest, and it has answers to
 * questions, which are not messages of the thread.
 */
function isHistoryOf(clientTexts: readonly string[], threadTexts: readonly string[]): boolean {
  let rest = clientTexts.length;
  for (const text of threadTexts.toReversed()) {
    const found = clientTexts.lastIndexOf(text, rest - 1);
    if (rest === 0 || found === -1) return rest === 0;
    rest = found;
  }
  return true;
}

function differs(): OpenAiProblem {
  const message =
    "The messages differ from those of the thread: an earlier message was changed, or the last answer is asked for again. " +
    "Send them without a thread, or under the name of a new one.";
  return new OpenAiProblem("invalid_parameter", "history_differs", message, "messages");
}

/** Identifies a conversation up to an answer: how a client without a thread finds the one whose question it answers. */
export function digestOf(messages: readonly InputMessage[]): string {
  const lines = messages
    .filter(({ role }) => role !== "system")
    .map((message) => [
      message.role,
      wordsOf(message).trim(),
      message.role === "assistant" ? message.calls.map(({ id }) => id) : [],
    ]);
  return createHash("sha256").update(JSON.stringify(lines)).digest("hex");
}
