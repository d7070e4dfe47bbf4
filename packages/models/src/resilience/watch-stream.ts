import type { ChatGenerationChunk } from "@langchain/core/outputs";
import { onAbort } from "@millrace/engine/concurrency/abort";
import { AppError } from "@millrace/engine/errors/errors";
import { markStreamFailure } from "./stream-failure.ts";
import type { Timeouts } from "../provider.ts";

/** Above any real answer: text, reasoning and arguments together. */
export const maxCharacters = 2_000_000;

const partlyStreamed = new WeakSet<object>();

/** Whether the error came after part of the answer was streamed; such calls are not repeated. */
export function brokeMidStream(error: unknown): boolean {
  return typeof error === "object" && error !== null && partlyStreamed.has(error);
}

/** Options of `watchStream`. */
export interface WatchOptions {
  signal: AbortSignal | undefined;
  /** Absent: no limits. */
  timeouts?: Pick<Timeouts, "firstTokenMs" | "idleMs" | "totalMs"> | undefined;
}

/**
 * Passes on a provider's chunks; fails on silence (`timeout`), endless answers (`timeout`, `too_large`) and streams
 * without a closing mark (`network`), so that partial tool arguments never look complete. `open` gets a signal that
 * then ends the request, and a callback for when the server has agreed to stream.
 */
export async function* watchStream(
  open: (signal: AbortSignal, agreed: () => void) => AsyncGenerator<ChatGenerationChunk>,
  { signal: given, timeouts }: WatchOptions,
): AsyncGenerator<ChatGenerationChunk> {
  const stop = new AbortController();
  const { signal } = stop;
  // A listener is much cheaper than `AbortSignal.any`.
  const forget = onAbort(given, () => stop.abort(given?.reason));
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
      if (added > 0) clock?.pause(isAnswer(next.value));
      yield next.value;
      if (length > maxCharacters) throw tooLong();
      if (added > 0) clock?.startIdleTimer();
    }
    signal.throwIfAborted();
    if (!isFinished) throw brokenOff();
  } catch (error) {
    if (length > 0 && typeof error === "object" && error !== null) partlyStreamed.add(error);
    else if (given?.aborted !== true) markStreamFailure(error, hasAgreed);
    throw error;
  } finally {
    clock?.end();
    wait.end();
    forget();
    // Ends the request after an early exit or silence. Aborting also releases finished requests' signals, which would
    // otherwise keep 2 KB each.
    stop.abort(over);
    await closeQuietly(chunks, signal.aborted && !isFinished);
  }
}

/** Abort reason for finished requests; one instance, since creating errors is expensive. */
const over = new DOMException("The answer is over.", "AbortError");

/** Awaits promises until the signal aborts, then rejects with its reason. */
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

/** Detects late answers: first content, next content, end. The reader's own time does not count. */
function startClock(
  { firstTokenMs, idleMs, totalMs }: NonNullable<WatchOptions["timeouts"]>,
  onLate: (error: AppError) => void,
) {
  let isThinking = false;
  let isReading = false;
  let hasAnswered = false;
  const late = (what: string, ms: number, setting: string) =>
    setTimeout(() => {
      if (!isReading) onLate(timeout(`${what} ${ms / 1000} s`, setting, isThinking));
    }, ms);
  const total = setTimeout(
    () => onLate(timeout(`gave no whole answer in ${totalMs / 1000} s`, "total_seconds", isThinking)),
    totalMs,
  );
  const first = late("said nothing for", firstTokenMs, "first_token_seconds");
  let silence: NodeJS.Timeout | undefined;
  return {
    /** Content arrived, and the reader has it now. */
    pause(answers: boolean) {
      isReading = true;
      if (silence === undefined) clearTimeout(first);
      hasAnswered ||= answers;
      isThinking = !hasAnswered;
    },
    /** The reader asks for more. One timer is set anew each time, which is cheaper than a new one. */
    startIdleTimer() {
      isReading = false;
      if (silence === undefined) silence = late("fell silent in the middle of its answer for", idleMs, "idle_seconds");
      else silence.refresh();
    },
    end() {
      clearTimeout(first);
      clearTimeout(silence);
      clearTimeout(total);
    },
  };
}

/** `isThinking`: only reasoning arrived so far; the model may need more time. */
function timeout(what: string, setting: string, isThinking: boolean): AppError {
  const more = `allow it more time (${setting} of the model)`;
  return new AppError("timeout", `The model ${what}${isThinking ? ", while it was still thinking" : ""}.`, {
    suggestion: isThinking
      ? `Try again, ${more}, or let it answer without thinking.`
      : `Try again, or ${more}; a smaller or less busy model may answer faster.`,
    recoverable: true,
  });
}

/** The error for an overlong answer. */
export function tooLong(): AppError {
  return new AppError("too_large", `The model's answer is longer than ${maxCharacters} characters, and was cut off.`, {
    suggestion: "Ask for less at once, or choose another model.",
  });
}

function brokenOff(): AppError {
  return new AppError("network", "The model's answer broke off before its end.", {
    suggestion: "Try again; if it happens often, check the connection to the model server.",
    recoverable: true,
  });
}

/** A generator waiting for the network cannot be closed before; its request is already aborted. */
async function closeQuietly(chunks: AsyncGenerator<unknown>, isWaiting: boolean): Promise<void> {
  const closed = chunks.return(undefined).catch(() => undefined);
  if (!isWaiting) await closed;
}

/** Whether the chunk has text, reasoning or a call. */
export function hasContent(chunk: ChatGenerationChunk): boolean {
  return contentLength(chunk) > 0;
}

/** Whether the chunk has more than reasoning. */
function isAnswer({ text, message }: ChatGenerationChunk): boolean {
  return (
    text.trim() !== "" ||
    ("tool_call_chunks" in message && Array.isArray(message.tool_call_chunks) && message.tool_call_chunks.length > 0)
  );
}

/** Characters of text, reasoning and calls; a call counts from its first chunk. */
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

/** Whether this chunk closes the answer: `finish_reason` for OpenAI, `done` for Ollama. */
export function hasClosingMark(chunk: ChatGenerationChunk): boolean {
  return closes(chunk.message.response_metadata) || closes(chunk.generationInfo);
}

function closes(info: Readonly<Record<string, unknown>> | undefined): boolean {
  if (info === undefined) return false;
  return typeof info["finish_reason"] === "string" || typeof info["done_reason"] === "string" || info["done"] === true;
}
