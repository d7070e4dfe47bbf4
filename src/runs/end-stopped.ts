/** Milliseconds after which a stop no longer waits for what it stops. */
export const stopPatience = 5000;

/**
 * What `work` comes to; `undefined` when the signal was aborted and `patience` milliseconds later it has still not
 * ended. The work itself cannot be ended from here: who calls must not listen to it any more.
 */
export async function endsInTime<Result>(
  work: Promise<Result>,
  signal: AbortSignal,
  patience: number,
): Promise<Result | undefined> {
  const late = Promise.withResolvers<undefined>();
  let timer: NodeJS.Timeout | undefined;
  const onAbort = (): void => {
    timer = setTimeout(() => late.resolve(undefined), patience);
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}
