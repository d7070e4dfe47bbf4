import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { WriteBatcher } from "@millrace/engine/storage/checkpoints/saver";

/** Groups that record what each transaction contained. */
function openGroups(): { groups: WriteBatcher; transactions: string[][]; note: (name: string) => () => void } {
  const transactions: string[][] = [];
  const groups = new WriteBatcher(async (work) => {
    transactions.push([]);
    work();
  });
  return { groups, transactions, note: (name) => () => void transactions.at(-1)?.push(name) };
}

test("a checkpoint commits the writes before it in its transaction, in order", async () => {
  const { groups, transactions, note } = openGroups();
  await Promise.all([
    groups.write(note("first"), "soon"),
    groups.write(note("second"), "soon"),
    groups.write(note("checkpoint"), "now"),
  ]);
  expect(transactions).toEqual([["first", "second", "checkpoint"]]);
});

test("writes without a following checkpoint are committed in the next turn of the event loop", async () => {
  const { groups, transactions, note } = openGroups();
  const written = groups.write(note("alone"), "soon");
  await Promise.resolve();
  expect(transactions).toEqual([]);
  await nextTurn();
  await written;
  expect(transactions).toEqual([["alone"]]);
});

test("writes after a checkpoint form a new group, and each is written once", async () => {
  const { groups, transactions, note } = openGroups();
  await Promise.all([
    groups.write(note("one"), "now"),
    groups.write(note("two"), "soon"),
    groups.write(note("three"), "now"),
  ]);
  await nextTurn();
  expect(transactions).toEqual([["one"], ["two", "three"]]);
});

test("an input is written with the state after the first step, and its caller does not wait", async () => {
  const { groups, transactions, note } = openGroups();
  await groups.write(note("input"), "input");
  await groups.write(note("checkpoint"), "now");
  await groups.write(note("of a graph inside"), "input");
  expect(transactions).toEqual([["input", "checkpoint"]]);
  await nextTurn();
  expect(transactions).toEqual([["input", "checkpoint"], ["of a graph inside"]]);
});

test("when an input cannot be written, nothing after it is written", async () => {
  const { groups, transactions, note } = openGroups();
  const broken = (): void => {
    throw new Error("broken");
  };
  await groups.write(broken, "input");
  await nextTurn();
  await expect(groups.write(note("checkpoint"), "now")).rejects.toThrow("broken");
  expect(transactions).toEqual([[]]);
});

test("a failure rejects all writes of its group, and no others", async () => {
  const { groups, note } = openGroups();
  const broken = (): void => {
    throw new Error("broken");
  };
  const ends = await Promise.allSettled([
    groups.write(note("beside"), "soon"),
    groups.write(broken, "now"),
    groups.write(note("later"), "now"),
  ]);
  expect(ends.map(({ status }) => status)).toEqual(["rejected", "rejected", "fulfilled"]);
});

test("writes that arrive during another one are grouped, and written one by one when the group fails", async () => {
  const { groups, transactions, note } = openGroups();
  const broken = (): void => {
    throw new Error("broken");
  };
  const begun = [
    groups.write(note("first"), "now"),
    groups.write(note("second"), "now"),
    groups.write(note("third"), "now"),
  ];
  await Promise.all(begun);
  expect(transactions).toEqual([["first"], ["second", "third"]]);
  const ends = await Promise.allSettled(
    [note("fourth"), note("fifth"), broken, note("sixth")].map((work) => groups.write(work, "now")),
  );
  expect(ends.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
  expect(transactions.slice(2)).toEqual([["fourth"], ["fifth"], ["fifth"], [], ["sixth"]]);
});
