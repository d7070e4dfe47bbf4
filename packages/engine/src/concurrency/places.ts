import { onAbort } from "./on-abort.ts";

/** Places for work that costs a thread, memory or something elsewhere: who finds none waits, in the order of coming. */
export interface Places {
  /** Waits for a place and gives what frees it. Rejects with the signal's reason when that aborts before. */
  enter(signal: AbortSignal): Promise<() => void>;
  /** Does `work` in the next place that is free. Throws the signal's reason when that aborts before. */
  take<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result>;
}

/** `limit` places, all of them free. */
export function createPlaces(limit: number): Places {
  const waiting = new Set<() => void>();
  let busy = 0;
  const leave = (): void => {
    const [next] = waiting;
    if (next === undefined) busy -= 1;
    else {
      // The place is handed over, so that no newcomer slips in between.
      waiting.delete(next);
      next();
    }
  };
  const enter = async (signal: AbortSignal): Promise<() => void> => {
    signal.throwIfAborted();
    if (busy < limit) busy += 1;
    else {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      waiting.add(resolve);
      const forget = onAbort(signal, () => {
        waiting.delete(resolve);
        reject(signal.reason);
      });
      try {
        await promise;
      } finally {
        forget();
      }
    }
    if (!signal.aborted) return leave;
    leave();
    throw signal.reason;
  };
  return {
    enter,
    async take(signal, work) {
      const free = await enter(signal);
      try {
        return await work();
      } finally {
        free();
      }
    },
  };
}
