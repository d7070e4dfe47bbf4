import { describe, expect, it } from "vitest";
import { labelsOf, treeOf } from "../../../console/pages/store/namespaces.ts";
import { rhythmOf } from "../../../console/run/schedule.ts";

describe("a schedule", () => {
  it.each([
    ["* * * * *", { kind: "minute" }],
    ["*/20 * * * *", { kind: "minutes", every: 20 }],
    ["5 * * * *", { kind: "hour", minute: 5 }],
    ["0 */6 * * *", { kind: "hours", every: 6, minute: 0 }],
    ["30 9 * * *", { kind: "day", hour: 9, minute: 30 }],
    ["@daily", { kind: "day", hour: 0, minute: 0 }],
    ["30 9 * * MON-FRI", { kind: "workday", hour: 9, minute: 30 }],
    ["0 18 * * mon,7", { kind: "week", days: [1, 0], hour: 18, minute: 0 }],
    ["0 8 15 * *", { kind: "month", day: 15, hour: 8, minute: 0 }],
    ["0 8 15 3 *", undefined],
    ["0 8 1,15 * *", undefined],
    ["0 8 15 * 1", undefined],
    ["0 8 * * 1-3", undefined],
    ["0 8", undefined],
  ])("%s has the words of its kind, or none", (schedule, rhythm) => {
    expect(rhythmOf(schedule)).toEqual(rhythm);
  });
});

describe("the namespaces of the store", () => {
  it("are a tree by their labels", () => {
    const tree = treeOf([["users", "grace"], ["memories"], ["users", "ada", "work"], ["users"]]);
    const shown = (branches: typeof tree): unknown[] => branches.map((one) => [one.label, ...shown(one.branches)]);
    expect(shown(tree)).toEqual([["memories"], ["users", ["ada", ["work"]], ["grace"]]]);
    expect(tree[1]?.branches[0]?.branches[0]?.namespace).toEqual(["users", "ada", "work"]);
  });

  it.each([
    ["users.ada", ["users", "ada"]],
    [" users . ada ", ["users", "ada"]],
    ["", undefined],
    ["users..ada", undefined],
  ])("are written with dots: %j", (text, labels) => {
    expect(labelsOf(text)).toEqual(labels);
  });
});
