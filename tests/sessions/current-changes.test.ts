import { expect, test } from "vitest";
import { CurrentChanges } from "@millrace/engine/concurrency/feed";
import { createGate } from "../runs/fixtures.ts";

const same = (left: number, right: number): boolean => left === right;

test("a change that comes while one looks is not missed", async () => {
  const changes = new CurrentChanges();
  const gate = createGate();
  let current = 1;
  let looks = 0;
  const read = async (): Promise<number> => {
    looks += 1;
    const seen = current;
    if (looks === 2) await gate.pass();
    return seen;
  };
  const values = changes.follow(read, same, new AbortController().signal);
  expect((await values.next()).value).toBe(1);
  const next = values.next();
  changes.notify();
  await gate.arrived;
  current = 2;
  changes.notify();
  gate.open();
  expect((await next).value).toBe(2);
  await values.return(undefined);
});

test("who goes is forgotten, whether by the signal, while waiting, or by leaving", async () => {
  const changes = new CurrentChanges();
  const gone = new AbortController();
  const left = changes.follow(async () => 1, same, gone.signal);
  const other = changes.follow(async () => 1, same, new AbortController().signal);
  expect([(await left.next()).value, (await other.next()).value, changes.followers]).toEqual([1, 1, 2]);
  const waiting = left.next();
  gone.abort();
  expect((await waiting).done).toBe(true);
  await other.return(undefined);
  expect(changes.followers).toBe(0);
});
