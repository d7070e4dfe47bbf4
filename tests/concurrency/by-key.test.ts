import { expect, test } from "vitest";
import { KeyedMutex } from "@millrace/engine/concurrency/by-key";
import { createGate, settle } from "../runs/fixtures.ts";

test("work with one key goes in order, also after a failure, and other keys wait for nothing", async () => {
  const turns = new KeyedMutex();
  const gate = createGate();
  const done: string[] = [];
  const first = turns.run("a", async () => {
    await gate.pass();
    throw new Error("no");
  });
  const second = turns.run("a", async () => done.push("second"));
  const third = turns.run("a", async () => done.push("third"));
  await turns.run("b", async () => done.push("other"));
  expect(done).toEqual(["other"]);
  gate.open();
  await expect(first).rejects.toThrow("no");
  await Promise.all([second, third]);
  expect(done).toEqual(["other", "second", "third"]);
});

test("a caller that waits too long gets an error and does nothing, and no caller passes what goes on", async () => {
  const turns = new KeyedMutex(1);
  const gate = createGate();
  const done: string[] = [];
  const first = turns.run("a", async () => {
    await gate.pass();
    done.push("first");
  });
  await expect(turns.run("a", async () => done.push("late"))).rejects.toMatchObject({ code: "conflict" });
  await expect(turns.run("a", async () => done.push("later"))).rejects.toMatchObject({ code: "conflict" });
  gate.open();
  await first;
  await settle();
  await turns.run("a", async () => done.push("next"));
  expect(done).toEqual(["first", "next"]);
});
