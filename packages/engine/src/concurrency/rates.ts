import { setTimeout as delay } from "node:timers/promises";
import { unlessAborted } from "./unless-aborted.ts";

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
 * A token bucket: as many at once as may begin in a second, then one by one at that rate. Who gives up while waiting
 * takes nothing.
 */
export function createRate(perSecond: number, clock: RateClock = realTime): Rate {
  const most = Math.max(1, perSecond);
  let tokens = most;
  let filledAt = clock.now();
  let last: Promise<void> = Promise.resolve();

  async function takeNext(signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      const now = clock.now();
      tokens = Math.min(most, tokens + ((now - filledAt) * perSecond) / 1000);
      filledAt = now;
      // What is missing to a whole token may be a rounding error.
      if (tokens > 1 - 1e-9) break;
      await clock.wait(Math.max(1, Math.ceil(((1 - tokens) * 1000) / perSecond)), signal);
    }
    tokens = Math.max(0, tokens - 1);
  }

  return {
    async take(signal) {
      const before = last;
      const mine = (async () => {
        await unlessAborted(before, signal);
        await takeNext(signal);
      })();
      // The next one waits for this one's place in the line, also when this one has given up.
      last = Promise.allSettled([before, mine]).then(() => undefined);
      await mine;
    },
  };
}
