import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { clusterTime, resetClusterTime, syncClusterTime } from "@millrace/engine/concurrency/cluster-time";
import { eventTime } from "@millrace/engine/runs/events/log";

const start = Date.now();
const hour = 3_600_000;
beforeEach(() => void vi.useFakeTimers({ now: start, toFake: ["Date", "performance"] }));
afterEach(() => {
  resetClusterTime();
  vi.useRealTimers();
});

it("is the machine's own until another one is synchronised, and when that is gone", () => {
  expect(clusterTime()).toBe(start);
  syncClusterTime(start - hour, performance.now());
  expect(clusterTime()).toBe(start - hour);
  resetClusterTime();
  expect(clusterTime()).toBe(start);
});

it("goes on where the machine's clock is set, an hour ahead and back", () => {
  syncClusterTime(start, performance.now());
  for (const jump of [hour, -hour, 0]) {
    vi.setSystemTime(start + jump);
    expect(clusterTime()).toBe(start);
    // The time of events goes with it: a jump ahead would stay in all later times.
    expect(Math.abs(eventTime("among others") - start)).toBeLessThan(1_000);
  }
  vi.advanceTimersByTime(1_000);
  expect(clusterTime()).toBe(start + 1_000);
});

it("follows the time it receives as far as that must be so", () => {
  vi.advanceTimersByTime(10_000);
  const now = performance.now();
  syncClusterTime(start, now);
  // An answer that took two seconds: at any moment of them it may have shown that.
  syncClusterTime(start - 1_500, now - 2_000);
  expect(clusterTime()).toBe(start);
  syncClusterTime(start - 2_500, now - 2_000);
  expect(clusterTime()).toBe(start - 500);
  syncClusterTime(start + hour, now);
  expect(clusterTime()).toBe(start + hour);
});
