import { expect, test } from "vitest";
import { Turns } from "../../src/runs/turns.ts";
import { createGate, settle } from "./fixtures.ts";

test("work with one key goes in order, also after a failure, and other keys wait for nothing", async () => {
  const turns = new Turns();
  const gate = createGate();
  const done: string[] = [];
  const first = turns.next("a", async () => {
    await gate.pass();
    throw new Error("no");
  });
  const second = turns.next("a", async () => done.push("second"));
  const third = turns.next("a", async () => done.push("third"));
  await turns.next("b", async () => done.push("other"));
  expect(done).toEqual(["other"]);
  gate.open();
  await expect(first).rejects.toThrow("no");
  await Promise.all([second, third]);
  expect(done).toEqual(["other", "second", "third"]);
});

test("who waits too long is told so and does nothing, and nobody passes what goes on", async () => {
  const turns = new Turns(1);
  const gate = createGate();
  const done: string[] = [];
  const first = turns.next("a", async () => {
    await gate.pass();
    done.push("first");
  });
  await expect(turns.next("a", async () => done.push("late"))).rejects.toMatchObject({ code: "conflict" });
  await expect(turns.next("a", async () => done.push("later"))).rejects.toMatchObject({ code: "conflict" });
  gate.open();
  await first;
  await settle();
  await turns.next("a", async () => done.push("next"));
  expect(done).toEqual(["first", "next"]);
});
