import { afterEach, expect, it, vi } from "vitest";
import { commonTime, heardCommonTime } from "@millrace/engine/concurrency/common-time";

const start = Date.parse("2026-11-27T12:00:00Z");
const hour = 3_600_000;
afterEach(() => {
  heardCommonTime(Date.now(), Date.now());
  vi.useRealTimers();
});

it("follows a clock that is far from this machine's, and leaves one that is near", () => {
  vi.useFakeTimers({ now: start, toFake: ["Date"] });
  expect(commonTime()).toBe(start);
  heardCommonTime(start - hour, start);
  expect(commonTime()).toBe(start - hour);
  // A measurement that took long, and one that differs little, change nothing.
  heardCommonTime(start + hour, start - 1_000);
  heardCommonTime(start - hour + 200, start);
  expect(commonTime()).toBe(start - hour);
  // This machine's clock is set: the next one says so.
  vi.setSystemTime(start - hour);
  heardCommonTime(start - hour, start - hour);
  expect(commonTime()).toBe(start - hour);
  heardCommonTime(start - hour + 100, start - hour);
  expect(commonTime()).toBe(start - hour);
});
