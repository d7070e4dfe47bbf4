import { setTimeout as wait } from "node:timers/promises";
import { handle } from "@millrace/engine/errors/error-strategy";
import { AppError, isAppError } from "@millrace/engine/errors/errors";
import { unlessAborted } from "@millrace/engine/concurrency/abort";
import { pausedForMs } from "./model-services.ts";
import { toModelError } from "../model-error.ts";
import type { ModelTarget } from "../provider.ts";
import { failedToStream } from "./stream-failure.ts";
import { brokeMidStream } from "./watch-stream.ts";

/** Default number of retries. */
const maxRetries = 3;
/** Retries if only streaming fails: the answer can also be requested whole. */
const streamRetries = 1;
/** Wait while another request probes the service. */
const pollMs = 250;
/** Jitter: waits are shortened by up to this share, so that runs do not retry simultaneously. */
const spread = 0.2;

/** Options of retries. */
export interface RetryOptions {
  signal: AbortSignal;
  /** Called before each retry, counted from 1, with the error and the delay. */
  onRetry?: (attempt: number, error: AppError, delayMs: number) => void;
  /** The model for error messages; see `modelTarget`. */
  target?: ModelTarget | undefined;
  /** First and maximum delay in milliseconds; default by strategy. */
  delays?: { initialMs: number; maxMs: number } | undefined;
  /** Maximum retries; default 3, -1: as long as the signal allows. */
  maxRetries?: number;
}

/**
 * The only place that retries model calls: network errors, time-outs, 5xx and 429; never authentication, bad requests
 * or an answer that broke mid-stream. Rejects with an AppError; on abort at once with `cancelled`, `timeout` or the
 * signal's own AppError.
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
    const requestedMs = requestedDelayMs(error);
    const pausedMs = maxAttempts === Infinity ? pausedForMs(error) : undefined;
    if (pausedMs !== undefined) {
      // With unlimited retries, wait until the next probe is allowed.
      next = { error, delayMs: Math.max(pausedMs, pollMs) };
      return true;
    }
    const isRateLimit = error.code === "rate_limit";
    const decision = handle(error, "same_way", {
      ...(isRateLimit ? { tries: rateLimits } : { tries, maxTries: failedToStream(error) ? mayStream : maxAttempts }),
      delays,
      requestedDelayMs: requestedMs,
      hasBegun: hasBegun(error),
    });
    if (decision.kind !== "retry") return false;
    tries += 1;
    if (isRateLimit) rateLimits += 1;
    next = { error, delayMs: requestedMs ?? decision.delayMs * (1 - spread * Math.random()) };
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

/** Whether part of the failed answer was already streamed. */
export function hasBegun(error: AppError): boolean {
  return brokeMidStream(error) || brokeMidStream(error.cause);
}

/** The wait requested by a 429 (`Retry-After`: seconds or a date) in milliseconds; `undefined` if none. */
export function requestedDelayMs(error: unknown): number | undefined {
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

/** The signal's reason as an AppError. */
export function abortError(signal: AbortSignal): AppError {
  const reason: unknown = signal.reason;
  if (isAppError(reason)) return reason;
  if (reason instanceof Error && reason.name === "TimeoutError") {
    return new AppError("timeout", "The time for this turn ran out while the model was answering.", { cause: reason });
  }
  return new AppError("cancelled", "The model call was stopped.", { cause: reason });
}
