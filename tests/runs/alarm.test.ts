import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Alarm } from "@millrace/engine/runs/events/alarm";

const minute = 60_000;
let calls: number[];
beforeEach(() => {
  calls = [];
  vi.useFakeTimers({ now: 0 });
});
afterEach(() => void vi.useRealTimers());

/** An alarm whose work notes when it was done, and then is due at the given times. */
function alarmWith(...next: (number | undefined)[]): Alarm {
  return new Alarm(async () => {
    calls.push(Date.now());
    return next.shift();
  });
}

test("works at the earliest of the times that it was given, and then at the one that the work gave", async () => {
  const alarm = alarmWith(9_000, undefined);
  alarm.scheduleAt(8_000);
  alarm.scheduleAt(5_000);
  alarm.scheduleAt(7_000);
  await vi.advanceTimersByTimeAsync(4_999);
  expect(calls).toEqual([]);
  await vi.advanceTimersByTimeAsync(minute);
  expect(calls).toEqual([5_000, 9_000]);
  expect(vi.getTimerCount()).toBe(0);
});

test("works at once for what is due already", async () => {
  vi.setSystemTime(minute);
  alarmWith().scheduleAt(0);
  await vi.advanceTimersByTimeAsync(0);
  expect(calls).toEqual([minute]);
});

test("has no timer while nothing is due", async () => {
  const alarm = alarmWith();
  alarm.scheduleAt(Infinity);
  expect(vi.getTimerCount()).toBe(0);
  await alarm.stop();
});

test("waits for what is years away, and looks at nothing but the clock meanwhile", async () => {
  const far = 365 * 24 * 60 * minute;
  alarmWith().scheduleAt(far);
  await vi.advanceTimersByTimeAsync(far - 1);
  expect(calls).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(calls).toEqual([far]);
});

test("notices within ten minutes that the machine has slept", async () => {
  alarmWith().scheduleAt(60 * minute);
  await vi.advanceTimersByTimeAsync(minute);
  vi.setSystemTime(61 * minute);
  await vi.advanceTimersByTimeAsync(10 * minute);
  expect(calls).toHaveLength(1);
});

test("never works twice at once; what comes meanwhile is done afterwards", async () => {
  let atWork = 0;
  const gate = Promise.withResolvers<void>();
  const alarm = new Alarm(async () => {
    calls.push(++atWork);
    await gate.promise;
    atWork -= 1;
    return undefined;
  });
  alarm.scheduleAt(0);
  await vi.advanceTimersByTimeAsync(0);
  alarm.scheduleAt(1);
  await vi.advanceTimersByTimeAsync(minute);
  expect(calls).toEqual([1]);
  gate.resolve();
  await vi.advanceTimersByTimeAsync(0);
  expect(calls).toEqual([1, 1]);
});

test("a stop waits for the work under way, and nothing comes after it", async () => {
  const gate = Promise.withResolvers<void>();
  const alarm = new Alarm(async () => {
    calls.push(Date.now());
    await gate.promise;
    return 0;
  });
  alarm.scheduleAt(0);
  await vi.advanceTimersByTimeAsync(0);
  let isStopped = false;
  const stopped = alarm.stop().then(() => (isStopped = true));
  await vi.advanceTimersByTimeAsync(0);
  expect(isStopped).toBe(false);
  gate.resolve();
  await stopped;
  alarm.scheduleAt(1);
  await vi.advanceTimersByTimeAsync(minute);
  expect(calls).toEqual([0]);
});
