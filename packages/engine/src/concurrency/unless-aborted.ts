/**
 * What `work` comes to, or the signal's reason as soon as that aborts. The work itself goes on, for whoever else waits
 * for it; a failure that nobody waits for any more is not an unhandled one.
 */
export async function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const aborted = Promise.withResolvers<never>();
  const stop = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    return await Promise.race([aborted.promise, work]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
