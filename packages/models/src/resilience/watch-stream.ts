import type { ChatGenerationChunk } from "@langchain/core/outputs";
import { AppError } from "@millrace/engine/errors/errors";
import { noteStreamFailure } from "./stream-failure.ts";
import type { Timeouts } from "../provider.ts";

/** Longer than what any model writes in one answer: text, reasoning and arguments together. */
export const mostCharacters = 2_000_000;

const begun = new WeakSet<object>();

/** Whether this error broke an answer a reader had already seen the beginning of: such a call is not repeated. */
export function brokeMidStream(error: unknown): boolean {
  return typeof error === "object" && error !== null && begun.has(error);
}

/** What is watched while a model streams. */
export interface WatchOptions {
  signal: AbortSignal | undefined;
  /** Absent: as long as it takes. */
  timeouts?: Pick<Timeouts, "firstTokenMs" | "idleMs" | "totalMs"> | undefined;
}

/**
 * Passes a provider's chunks on and gives up on silence (`timeout`), on what never ends (`timeout`, `too_large`) and on an
 * answer that just stops without the provider's closing mark (`network`): half-received tool arguments must never look
 * whole. `open` gets a signal that ends the request in all these cases, and tells when the server has agreed to stream.
 */
export async function* watchStream(
  open: (signal: AbortSignal, agreed: () => void) => AsyncGenerator<ChatGenerationChunk>,
  { signal: given, timeouts }: WatchOptions,
): AsyncGenerator<ChatGenerationChunk> {
  const stop = new AbortController();
  const signal = given === undefined ? stop.signal : AbortSignal.any([given, stop.signal]);
  const clock = timeouts === undefined ? undefined : startClock(timeouts, (error) => stop.abort(error));
  let length = 0;
  let isFinished = false;
  let hasAgreed = false;
  const chunks = open(signal, () => (hasAgreed = true));
  const wait = untilAborted(signal);
  try {
    signal.throwIfAborted();
    for (;;) {
      const next = await wait.for(chunks.next());
      if (next.done === true) break;
      const added = contentLength(next.value);
      length += added;
      isFinished ||= hasClosingMark(next.value);
      if (added > 0) clock?.hold(isAnswer(next.value));
      yield next.value;
      if (length > mostCharacters) throw tooLong();
      if (added > 0) clock?.heard();
    }
    signal.throwIfAborted();
    if (!isFinished) throw brokenOff();
  } catch (error) {
    if (length > 0 && typeof error === "object" && error !== null) begun.add(error);
    else if (given?.aborted !== true) noteStreamFailure(error, hasAgreed);
    throw error;
  } finally {
    clock?.end();
    wait.end();
    // A reader that leaves early, or silence: the request ends too. One that is over lets go of the signal only so:
    // without this each request would leave 2 KB behind.
    stop.abort(over);
    await closeQuietly(chunks, signal.aborted && !isFinished);
  }
}

/** Why a request whose answer nobody reads any more is ended; made once, since a new error is a good part of its cost. */
const over = new DOMException("The answer is over.", "AbortError");

/** Waits for one promise after the other, each until the signal aborts; then rejects with its reason. */
function untilAborted(signal: AbortSignal) {
  let giveUp: (reason: unknown) => void = () => undefined;
  const onAbort = (): void => giveUp(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  return {
    for: <T>(work: Promise<T>): Promise<T> =>
      new Promise<T>((resolve, reject) => {
        giveUp = reject;
        if (signal.aborted) reject(signal.reason);
        work.then(resolve, reject);
      }),
    end: () => signal.removeEventListener("abort", onAbort),
  };
}

/** Tells when an answer is too late: its first content, its next, or its end. */
function startClock(
  { firstTokenMs, idleMs, totalMs }: NonNullable<WatchOptions["timeouts"]>,
  tell: (error: AppError) => void,
) {
  let isThinking = false;
  const late = (what: string, ms: number, setting: string) =>
    setTimeout(() => tell(timeout(`${what} ${ms / 1000} s`, setting, isThinking)), ms);
  const total = late("gave no whole answer in", totalMs, "total_seconds");
  let silence = late("said nothing for", firstTokenMs, "first_token_seconds");
  let hasAnswered = false;
  return {
    /** Content is there; the time until the reader wants more is the reader's. */
    hold(answers: boolean) {
      clearTimeout(silence);
      hasAnswered ||= answers;
      isThinking = !hasAnswered;
    },
    heard: () => (silence = late("fell silent in the middle of its answer for", idleMs, "idle_seconds")),
    end() {
      clearTimeout(silence);
      clearTimeout(total);
    },
  };
}

/** `isThinking`: so far only thoughts came; they are kept, and it may need more time for them. */
function timeout(what: string, setting: string, isThinking: boolean): AppError {
  const more = `allow it more time (${setting} of the model)`;
  return new AppError("timeout", `The model ${what}${isThinking ? ", while it was still thinking" : ""}.`, {
    suggestion: isThinking
      ? `Try again, ${more}, or let it answer without thinking.`
      : `Try again, or ${more}; a smaller or less busy model may answer faster.`,
    recoverable: true,
  });
}

/** An answer that is longer than any model writes. */
export function tooLong(): AppError {
  return new AppError("too_large", `The model's answer is longer than ${mostCharacters} characters, and was cut off.`, {
    suggestion: "Ask for less at once, or choose another model.",
  });
}

function brokenOff(): AppError {
  return new AppError("network", "The model's answer broke off before its end.", {
    suggestion: "Try again; if it happens often, check the connection to the model server.",
    recoverable: true,
  });
}

/** A generator that waits for the network cannot be closed before that wait ends; its request is aborted already. */
async function closeQuietly(chunks: AsyncGenerator<unknown>, isWaiting: boolean): Promise<void> {
  const closed = chunks.return(undefined).catch(() => undefined);
  if (!isWaiting) await closed;
}

/** Whether a reader hears something: words, reasoning, or a call. */
export function hasContent(chunk: ChatGenerationChunk): boolean {
  return contentLength(chunk) > 0;
}

/** Whether the answer itself is heard, and not only the thoughts before it. */
function isAnswer({ text, message }: ChatGenerationChunk): boolean {
  return (
    text.trim() !== "" ||
    ("tool_call_chunks" in message && Array.isArray(message.tool_call_chunks) && message.tool_call_chunks.length > 0)
  );
}

/** Characters of words, reasoning and calls; a call counts from its first mark. */
function contentLength({ text, message }: ChatGenerationChunk): number {
  let length = text.length;
  if ("tool_call_chunks" in message && Array.isArray(message.tool_call_chunks)) {
    for (const call of message.tool_call_chunks) length += 1 + String(call?.args ?? "").length;
  }
  for (const value of Object.values(message.additional_kwargs)) {
    if (typeof value === "string") length += value.length;
    else if (value !== undefined && value !== null) length += 1;
  }
  return length;
}

/** Whether the provider says with this chunk that the answer is over: OpenAI closes with a `finish_reason`, Ollama with `done`. */
export function hasClosingMark(chunk: ChatGenerationChunk): boolean {
  return closes(chunk.message.response_metadata) || closes(chunk.generationInfo);
}

function closes(info: Readonly<Record<string, unknown>> | undefined): boolean {
  if (info === undefined) return false;
  return typeof info["finish_reason"] === "string" || typeof info["done_reason"] === "string" || info["done"] === true;
}
