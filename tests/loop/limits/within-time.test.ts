import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { isOutOfTime, withinTime } from "../../../src/loop/model-call/within-time.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Work that ends only with its signal; the signal is given too. */
function begin(milliseconds: number): { signal: AbortSignal; ended: Promise<unknown> } {
  let given = new AbortController().signal;
  const ended = withinTime(milliseconds, undefined, (signal) => {
    given = signal;
    return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  }).catch((error: unknown) => error);
  return { signal: given, ended };
}

describe("the time of a turn", () => {
  it("ends its model call when it is over", async () => {
    const { signal, ended } = begin(1000);
    await vi.advanceTimersByTimeAsync(999);
    expect(signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(isOutOfTime(await ended)).toBe(true);
  });

  it("may be longer than a timer can hold", async () => {
    const { signal } = begin(100 * 24 * 3_600_000);
    await vi.advanceTimersByTimeAsync(24 * 3_600_000);
    expect(signal.aborted).toBe(false);
  });
});
