import { setTimeout as wait } from "node:timers/promises";
import { handle } from "@millrace/engine/errors/error-strategy";
import { AppError, isAppError } from "@millrace/engine/errors/errors";
import { unlessAborted } from "@millrace/engine/concurrency/abort";
import { pausedForMs } from "./model-services.ts";
import { toModelError } from "../model-error.ts";
import type { ModelTarget } from "../provider.ts";
import { failedToStream } from "./stream-failure.ts";
import { brokeMidStream } from "./watch-stream.ts";

/** At most this many further tries. */
const maxRetries = 3;
/** Further tries to stream where only that fails: the answer may be had in one piece. */
const streamRetries = 1;
/** While another request looks whether a service is back. */
const pollMs = 250;
/** A wait is shorter by up to this share, so that runs which failed together do not come back together. */
const spread = 0.2;

/** How a model call is repeated. */
export interface RetryOptions {
  signal: AbortSignal;
  /** Told before each further try (counted from 1), with what failed and how long the wait is. */
  onRetry?: (attempt: number, error: AppError, delayMs: number) => void;
  /** Names the model in error messages; see `modelTarget`. */
  target?: ModelTarget | undefined;
  /** Milliseconds of the first and the longest wait; default is the strategy's. */
  delays?: { initialMs: number; maxMs: number } | undefined;
  /** Further tries at most; default 3, -1 for as many as the signal allows. */
  maxRetries?: number;
}

/**
 * The one place where model calls are repeated: network, time-outs, 5xx and 429, never authentication, bad requests or
 * an answer that broke after it had begun. Rejects with an AppError; when the signal aborts, also while waiting, at
 * once with `cancelled`, `timeout` or the signal's own AppError.
 */
export async function callWithRetry<T>(work: (signal: AbortSignal) => Promise<T>, options: RetryOptions): Promise<T> {
  const { signal, delays } = options;
  const wanted = options.maxRetries ?? maxRetries;
  const maxAttempts = wanted < 0 ? Infinity : wanted;
  const mayStream = Math.min(streamRetries, maxAttempts);
  let tries = 0;
  let rateLimits = 0;
  let next: { error: AppError; delayMs: number } | undefined;
  const isWorthAnotherTry = (error: AppError): boolean => {
    const askedMs = askedWaitMs(error);
    const pausedMs = maxAttempts === Infinity ? pausedForMs(error) : undefined;
    if (pausedMs !== undefined) {
      // Whoever wants to go on for as long as it takes waits for the moment in which somebody may look again.
      next = { error, delayMs: Math.max(pausedMs, pollMs) };
      return true;
    }
    const isRateLimit = error.code === "rate_limit";
    const decision = handle(error, "same_way", {
      ...(isRateLimit ? { tries: rateLimits } : { tries, maxTries: failedToStream(error) ? mayStream : maxAttempts }),
      delays,
      askedWaitMs: askedMs,
      hasBegun: hasBegun(error),
    });
    if (decision.kind !== "retry") return false;
    tries += 1;
    if (isRateLimit) rateLimits += 1;
    next = { error, delayMs: askedMs ?? decision.delayMs * (1 - spread * Math.random()) };
    return true;
  };
  for (let attempt = 0; ; attempt += 1) {
    try {
      if (next !== undefined) {
        options.onRetry?.(attempt, next.error, next.delayMs);
        await wait(next.delayMs, undefined, { signal });
      }
      signal.throwIfAborted();
      return await unlessAborted(work(signal), signal);
    } catch (error) {
      if (signal.aborted) throw abortError(signal);
      const known = toModelError(error, options.target);
      if (attempt >= maxAttempts || !isWorthAnotherTry(known)) throw known;
    }
  }
}

/** Whether a reader had already seen the beginning of the answer that failed. */
export function hasBegun(error: AppError): boolean {
  return brokeMidStream(error) || brokeMidStream(error.cause);
}

/** The wait a 429 asks for (`Retry-After`: seconds or a date), in milliseconds; `undefined` when it asks for none. */
export function askedWaitMs(error: unknown): number | undefined {
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  const headers: unknown =
    typeof cause === "object" && cause !== null && "headers" in cause ? cause.headers : undefined;
  const value = headers instanceof Headers ? headers.get("retry-after")?.trim() : undefined;
  if (value === undefined || value === "") return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

/** Why a signal stopped us, as one of our errors. */
export function abortError(signal: AbortSignal): AppError {
  const reason: unknown = signal.reason;
  if (isAppError(reason)) return reason;
  if (reason instanceof Error && reason.name === "TimeoutError") {
    return new AppError("timeout", "The time for this turn ran out while the model was answering.", { cause: reason });
  }
  return new AppError("cancelled", "The model call was stopped.", { cause: reason });
}
