import { expect, it } from "vitest";
import type { RunEvent } from "@millrace/engine/run-events";
import { DecodedGroups } from "@millrace/engine/storage/events/event-batch";

const group = (): RunEvent[] => [{ id: 0, event: "custom", namespace: [], data: "text" }];

it("decodes a group once for concurrent readers and as long as one of them holds it", async () => {
  const groups = new DecodedGroups();
  let decoded = 0;
  const decode = (): Promise<RunEvent[]> => {
    decoded += 1;
    return Promise.resolve(group());
  };
  const [first, second] = await Promise.all([groups.get("a", decode), groups.get("a", decode)]);
  const third = await groups.get("a", decode);
  expect(second).toBe(first);
  expect(third).toBe(first);
  expect(decoded).toBe(1);
  expect(await groups.get("b", decode)).not.toBe(first);
  expect(decoded).toBe(2);
});

it("rejects for all readers when decoding fails, and tries again afterwards", async () => {
  const groups = new DecodedGroups();
  const fails = (): Promise<RunEvent[]> => Promise.reject(new RangeError("damaged"));
  const settled = await Promise.allSettled([groups.get("a", fails), groups.get("a", fails)]);
  expect(settled.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(await groups.get("a", () => Promise.resolve(group()))).toEqual(group());
});
