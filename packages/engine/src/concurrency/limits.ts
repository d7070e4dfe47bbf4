import { onAbort, unlessAborted } from "./abort.ts";
import { setTimeout as delay } from "node:timers/promises";

/** A semaphore for work that costs a thread or memory: callers wait for a free slot, first come, first served. */
export interface Semaphore {
  /** Waits for a slot and returns its release function. Rejects with the signal's reason if that aborts first. */
  acquire(signal: AbortSignal): Promise<() => void>;
  /** Runs `work` in the next free slot. Throws the signal's reason if that aborts first. */
  run<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result>;
}

/** A semaphore with `limit` slots. */
export function createSemaphore(limit: number): Semaphore {
  const waiting = new Set<() => void>();
  let busy = 0;
  const leave = (): void => {
    const [next] = waiting;
    if (next === undefined) busy -= 1;
    else {
      // The slot is handed over, so that no newcomer slips in between.
      waiting.delete(next);
      next();
    }
  };
  const acquire = async (signal: AbortSignal): Promise<() => void> => {
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
    acquire,
    async run(signal, work) {
      const free = await acquire(signal);
      try {
        return await work();
      } finally {
        free();
      }
    },
  };
}

/** Limits how often something starts. */
export interface RateLimiter {
  /** Waits for its turn, first come, first served. Rejects with the signal's reason if it aborts first. */
  acquire(signal: AbortSignal): Promise<void>;
}

/** A clock in milliseconds, replaceable in tests. */
export interface RateClock {
  now(): number;
  wait(milliseconds: number, signal: AbortSignal): Promise<void>;
}

const realTime: RateClock = {
  now: () => performance.now(),
  wait: (milliseconds, signal) => delay(milliseconds, undefined, { signal }),
};

/**
 * A token bucket: a burst of one second's worth, then one by one at that rate. A caller that gives up while waiting
 * takes no token.
 */
export function createRateLimiter(perSecond: number, clock: RateClock = realTime): RateLimiter {
  const capacity = Math.max(1, perSecond);
  let tokens = capacity;
  let filledAt = clock.now();
  let waiting = 0;
  let last: Promise<void> = Promise.resolve();

  /** Takes a token if there is one. */
  function takeToken(): boolean {
    const now = clock.now();
    tokens = Math.min(capacity, tokens + ((now - filledAt) * perSecond) / 1000);
    filledAt = now;
    // A tiny deficit may be a rounding error.
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
    async acquire(signal) {
      signal.throwIfAborted();
      if (waiting === 0 && takeToken()) return;
      waiting += 1;
      const before = last;
      const mine = (async () => {
        await unlessAborted(before, signal);
        await takeNext(signal);
      })();
      // The next caller waits for this one's place in line, even if this one gives up.
      last = Promise.allSettled([before, mine]).then(() => {
        waiting -= 1;
      });
      await mine;
    },
  };
}
