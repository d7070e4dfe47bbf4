import { AppError } from "@millrace/engine/errors/errors";
import { onAbort } from "@millrace/engine/concurrency/abort";

const ranOut = new WeakSet<object>();

/** Maximum delay of a timer in milliseconds (25 days); longer ones fire at once. */
const maxTimerMs = 0x7fff_ffff;

/** Whether `withinTime` made this error; comparing clocks would be unreliable. */
export function isOutOfTime(error: unknown): boolean {
  return typeof error === "object" && error !== null && ranOut.has(error);
}

/**
 * Runs `work` with a signal that aborts with `signal`, or with `timeout` after `milliseconds`. Timer and listener end
 * with the work; `AbortSignal.timeout` would keep everything the call touched until it fires.
 */
export async function withinTime<T>(
  milliseconds: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  const limit = Math.min(milliseconds, maxTimerMs);
  const timer = setTimeout(() => {
    const error = new AppError("timeout", "The time for this turn ran out while the model was answering.", {
      suggestion:
        "Allow turns more time (limits.timeout_seconds), ask for less at once, or let the model answer without thinking.",
    });
    ranOut.add(error);
    stop.abort(error);
  }, limit);
  const forget = onAbort(signal, () => stop.abort(signal?.reason));
  try {
    return await work(stop.signal);
  } finally {
    clearTimeout(timer);
    forget();
  }
}
