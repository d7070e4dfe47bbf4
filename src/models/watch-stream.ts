import type { ChatGenerationChunk } from "@langchain/core/outputs";
import { AppError } from "../errors.ts";

/** Silence, in milliseconds, after which a stream that has begun is given up (reliability.md, 2.4). */
const longestSilenceMs = 60_000;

const begun = new WeakSet<object>();

/** Whether this error broke an answer a reader had already seen the beginning of: such a call is not repeated (SVC-05). */
export function brokeMidStream(error: unknown): boolean {
  return typeof error === "object" && error !== null && begun.has(error);
}

/** What is watched while a model streams. */
export interface WatchOptions {
  signal: AbortSignal | undefined;
  /** Milliseconds without a chunk of content; default 60 s. The time to the first one is the client's time-out. */
  silenceMs?: number | undefined;
}

/**
 * Passes a provider's chunks on and gives up on silence (`timeout`) and on an answer that just stops without the
 * provider's closing mark (`network`): half-received tool arguments must never look whole. `open` gets a signal that ends
 * the request in both cases.
 */
export async function* watchStream(
  open: (signal: AbortSignal) => AsyncGenerator<ChatGenerationChunk>,
  options: WatchOptions,
): AsyncGenerator<ChatGenerationChunk> {
  const silence = new AbortController();
  const signal = options.signal === undefined ? silence.signal : AbortSignal.any([options.signal, silence.signal]);
  const silenceMs = options.silenceMs ?? longestSilenceMs;
  let hasBegun = false;
  let isFinished = false;
  let timer: NodeJS.Timeout | undefined;
  const aborted = Promise.withResolvers<never>();
  // Only raced against; without a handler an abort between two chunks would be an unhandled rejection.
  aborted.promise.catch(() => undefined);
  const onAbort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  const chunks = open(signal);
  try {
    signal.throwIfAborted();
    for (;;) {
      const next = await Promise.race([chunks.next(), aborted.promise]);
      clearTimeout(timer);
      if (next.done === true) break;
      hasBegun ||= hasContent(next.value);
      isFinished ||= hasClosingMark(next.value);
      yield next.value;
      if (hasBegun) timer = setTimeout(() => silence.abort(silent(silenceMs)), silenceMs);
    }
    signal.throwIfAborted();
    if (!isFinished) throw brokenOff();
  } catch (error) {
    if (hasBegun && typeof error === "object" && error !== null) begun.add(error);
    throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
    // A reader that leaves early, or silence: the request ends too.
    silence.abort();
    await closeQuietly(chunks, signal.aborted && !isFinished);
  }
}

function silent(silenceMs: number): AppError {
  return new AppError("timeout", `The model fell silent for ${silenceMs / 1000} s in the middle of its answer.`, {
    suggestion: "Try again; a smaller or less busy model may answer faster.",
    recoverable: true,
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

function hasContent(chunk: ChatGenerationChunk): boolean {
  const { message } = chunk;
  if (chunk.text !== "") return true;
  if ("tool_call_chunks" in message && Array.isArray(message.tool_call_chunks) && message.tool_call_chunks.length > 0) {
    return true;
  }
  return Object.keys(message.additional_kwargs).length > 0;
}

/** Whether the provider says with this chunk that the answer is over: OpenAI closes with a `finish_reason`, Ollama with `done`. */
export function hasClosingMark(chunk: ChatGenerationChunk): boolean {
  const info: Record<string, unknown> = { ...chunk.generationInfo, ...chunk.message.response_metadata };
  return typeof info["finish_reason"] === "string" || typeof info["done_reason"] === "string" || info["done"] === true;
}
