import { onAbort, unlessAborted } from "./abort.ts";
import { setTimeout as delay } from "node:timers/promises";

/** A semaphore for work that costs a thread or memory: callers wait for a free place, first come, first served. */
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

/** Bounds how often something begins. */
export interface Rate {
  /** Waits for its turn, first come, first served. Rejects with the signal's reason when it aborts before. */
  take(signal: AbortSignal): Promise<void>;
}

/** How time passes; a test has its own. Milliseconds. */
export interface RateClock {
  now(): number;
  wait(milliseconds: number, signal: AbortSignal): Promise<void>;
}

const realTime: RateClock = {
  now: () => performance.now(),
  wait: (milliseconds, signal) => delay(milliseconds, undefined, { signal }),
};

/**
 * A token bucket: as many at once as may begin in a second, then one by one at that rate. A caller that gives up while
 * waiting takes nothing.
 */
export function createRate(perSecond: number, clock: RateClock = realTime): Rate {
  const most = Math.max(1, perSecond);
  let tokens = most;
  let filledAt = clock.now();
  let waiting = 0;
  let last: Promise<void> = Promise.resolve();

  /** Takes a token if there is one. */
  function takeToken(): boolean {
    const now = clock.now();
    tokens = Math.min(most, tokens + ((now - filledAt) * perSecond) / 1000);
    filledAt = now;
    // What is missing to a whole token may be a rounding error.
    if (tokens <= 1 - 1e-9) return false;
    tokens = Math.max(0, tokens - 1);
    return true;
  }

  async function takeNext(signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      if (takeToken()) return;
      await clock.wait(Math.max(1, Math.ceil(((1 - tokens) * 1000) / perSecond)), signal);
    }
  }

  return {
    async take(signal) {
      signal.throwIfAborted();
      if (waiting === 0 && takeToken()) return;
      waiting += 1;
      const before = last;
      const mine = (async () => {
        await unlessAborted(before, signal);
        await takeNext(signal);
      })();
      // The next one waits for this one's place in the line, also when this one has given up.
      last = Promise.allSettled([before, mine]).then(() => {
        waiting -= 1;
      });
      await mine;
    },
  };
}
