import { expect, it } from "vitest";
import { createBulkhead } from "../../src/models/resilience/bulkhead.ts";

const settled = async (): Promise<void> => await new Promise((resolve) => setImmediate(resolve));

it("lets so many in at once, and the others in their order", async () => {
  const bulkhead = createBulkhead(2);
  const inside: number[] = [];
  const leave: (() => void)[] = [];
  const enter = async (number: number): Promise<void> => {
    leave[number] = await bulkhead.enter(undefined);
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
  const bulkhead = createBulkhead(1);
  const leave = await bulkhead.enter(undefined);
  const stop = new AbortController();
  const reason = new Error("enough");
  const waiting = bulkhead.enter(stop.signal);
  const next = bulkhead.enter(undefined);
  stop.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  leave();
  (await next)();
  (await bulkhead.enter(undefined))();
  await expect(bulkhead.enter(stop.signal)).rejects.toBe(reason);
});
