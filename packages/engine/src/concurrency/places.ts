/** Places for work that costs a thread, memory or something elsewhere: who finds none waits, in the order of coming. */
export interface Places {
  /** Does `work` in the next place that is free. Throws the signal's reason when that aborts before. */
  take<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result>;
}

/** `limit` places, all of them free. */
export function createPlaces(limit: number): Places {
  const waiting = new Set<() => void>();
  let busy = 0;
  const begin = async (signal: AbortSignal): Promise<void> => {
    signal.throwIfAborted();
    if (busy < limit) {
      busy += 1;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const stop = (): void => {
      waiting.delete(resolve);
      reject(signal.reason);
    };
    waiting.add(resolve);
    signal.addEventListener("abort", stop, { once: true });
    try {
      await promise;
    } finally {
      signal.removeEventListener("abort", stop);
    }
  };
  const end = (): void => {
    const [next] = waiting;
    if (next === undefined) busy -= 1;
    else {
      // The place is handed over, so that no newcomer slips in between.
      waiting.delete(next);
      next();
    }
  };
  return {
    async take(signal, work) {
      await begin(signal);
      try {
        signal.throwIfAborted();
        return await work();
      } finally {
        end();
      }
    },
  };
}
