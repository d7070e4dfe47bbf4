import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRateLimiter, type RateClock } from "@millrace/engine/concurrency/limits";

/** Time that passes only while a caller waits for it. */
function ownTime(): RateClock {
  let now = 0;
  return {
    now: () => now,
    wait: async (milliseconds, signal) => {
      signal.throwIfAborted();
      now += milliseconds;
    },
  };
}

const never = (): AbortSignal => new AbortController().signal;

describe("a rate", () => {
  it("lets a second's worth begin at once, and the rest one by one", async () => {
    const clock = ownTime();
    const rate = createRateLimiter(10, clock);
    const begun: number[] = [];
    for (let call = 0; call < 13; call += 1) {
      await rate.acquire(never());
      begun.push(clock.now());
    }
    expect(begun).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 100, 200, 300]);
  });

  it("never lets more begin than a full bucket and what came in since, in the order of asking", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 120 }), async (perSecond, calls) => {
        const clock = ownTime();
        const rate = createRateLimiter(perSecond, clock);
        const begun: { call: number; at: number }[] = [];
        await Promise.all(
          Array.from({ length: calls }, async (_, call) => {
            await rate.acquire(never());
            begun.push({ call, at: clock.now() });
          }),
        );
        expect(begun.map(({ call }) => call)).toEqual(Array.from({ length: calls }, (_, call) => call));
        for (const [index, { at }] of begun.entries()) {
          expect(index + 1).toBeLessThanOrEqual(perSecond + (at * perSecond) / 1000 + 1e-6);
        }
      }),
      { numRuns: 50 },
    );
  });

  it("takes nothing from who gives up while waiting, and keeps the others' order", async () => {
    const waits: (() => void)[] = [];
    let now = 0;
    const rate = createRateLimiter(1, {
      now: () => now,
      wait: (milliseconds, signal) =>
        new Promise((resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason), { once: true });
          waits.push(() => {
            now += milliseconds;
            resolve();
          });
        }),
    });
    await rate.acquire(never());
    const [first, second] = [new AbortController(), new AbortController()];
    const begun: string[] = [];
    const one = rate.acquire(first.signal).then(() => begun.push("one"));
    const two = rate.acquire(second.signal).then(() => begun.push("two"));
    const three = rate.acquire(never()).then(() => begun.push("three"));
    second.abort(new Error("not any more"));
    await expect(two).rejects.toThrow("not any more");
    await expect.poll(() => waits.length).toBe(1);
    first.abort(new Error("not any more"));
    await expect(one).rejects.toThrow("not any more");
    await expect.poll(() => waits.length).toBe(2);
    waits[1]?.();
    await three;
    expect({ begun, now }).toEqual({ begun: ["three"], now: 1000 });
  });
});
