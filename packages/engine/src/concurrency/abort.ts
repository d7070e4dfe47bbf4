import { setImmediate as nextTurn } from "node:timers/promises";

/** Calls `listener` when the signal aborts, at once where it has already. Gives what takes the listener away again. */
export function onAbort(signal: AbortSignal | undefined, listener: () => void): () => void {
  if (signal?.aborted === true) listener();
  else signal?.addEventListener("abort", listener, { once: true });
  return () => signal?.removeEventListener("abort", listener);
}

/**
 * The result of `work`, or the signal's reason as soon as it aborts. The work itself goes on, as others may wait
 * for it; its later failure is not an unhandled one.
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
 * What `work` comes to, or after so many milliseconds what `late` gives or throws. The work itself goes on; a failure
 * that nobody waits for any more is not an unhandled one.
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
 * For long loops: call it often; after 15 ms of work it lets other work run, and then throws when `signal` has aborted.
 */
export function breathing(signal: AbortSignal): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < 15) return undefined;
    return nextTurn().then(() => {
      since = performance.now();
      signal.throwIfAborted();
    });
  };
}
