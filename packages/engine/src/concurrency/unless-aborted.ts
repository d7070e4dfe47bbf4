import { onAbort } from "./on-abort.ts";

/**
 * What `work` comes to, or the signal's reason as soon as that aborts. The work itself goes on, for whoever else waits
 * for it; a failure that nobody waits for any more is not an unhandled one.
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
