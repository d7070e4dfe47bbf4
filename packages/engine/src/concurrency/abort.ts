import { setImmediate as nextTurn } from "node:timers/promises";

/** Calls `listener` when the signal aborts, at once if it already has. Returns a function that removes the listener. */
export function onAbort(signal: AbortSignal | undefined, listener: () => void): () => void {
  if (signal?.aborted === true) listener();
  else signal?.addEventListener("abort", listener, { once: true });
  return () => signal?.removeEventListener("abort", listener);
}

/**
 * The result of `work`, or the signal's reason as soon as it aborts. The work itself continues, as others may wait for
 * it; its later failure is handled.
 */
export async function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  const aborted = Promise.withResolvers<never>();
  const forget = onAbort(signal, () => aborted.reject(signal?.reason));
  try {
    return await Promise.race([aborted.promise, work]);
  } finally {
    forget();
  }
}

/**
 * The result of `work`, or after this many milliseconds what `late` returns or throws. The work itself continues; its
 * later failure is handled.
 */
export async function withTimeout<Result, Late>(
  work: Promise<Result>,
  milliseconds: number,
  late: () => Late,
): Promise<Result | Late> {
  const over = Promise.withResolvers<void>();
  const timer = setTimeout(over.resolve, milliseconds);
  try {
    return await Promise.race([work, over.promise.then(late)]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * For long loops: call it often. After 15 ms of work it yields to the event loop, then throws if `signal` has aborted.
 */
export function yieldingCheck(signal: AbortSignal): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < 15) return undefined;
    return nextTurn().then(() => {
      since = performance.now();
      signal.throwIfAborted();
    });
  };
}
