import { expect, it } from "vitest";
import { createSemaphore } from "@millrace/engine/concurrency/limits";

const never = new AbortController().signal;
const settled = async (): Promise<void> => await new Promise((resolve) => setImmediate(resolve));

it("lets so many in at once, and the others in their order", async () => {
  const places = createSemaphore(2);
  const inside: number[] = [];
  const leave: (() => void)[] = [];
  const enter = async (number: number): Promise<void> => {
    leave[number] = await places.acquire(never);
    inside.push(number);
  };
  const all = [0, 1, 2, 3].map(async (number) => await enter(number));
  await settled();
  expect(inside).toEqual([0, 1]);
  leave[1]?.();
  await settled();
  expect(inside).toEqual([0, 1, 2]);
  leave[0]?.();
  await Promise.all(all);
  expect(inside).toEqual([0, 1, 2, 3]);
});

it("who gives up while waiting gets the signal's reason, and takes no place", async () => {
  const places = createSemaphore(1);
  const leave = await places.acquire(never);
  const stop = new AbortController();
  const reason = new Error("enough");
  const waiting = places.acquire(stop.signal);
  const next = places.acquire(never);
  stop.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  leave();
  (await next)();
  (await places.acquire(never))();
  await expect(places.acquire(stop.signal)).rejects.toBe(reason);
});
