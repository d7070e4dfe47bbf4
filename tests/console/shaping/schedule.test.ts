import { describe, expect, it } from "vitest";
import { labelsOf, treeOf } from "../../../console/pages/store/namespaces.ts";
import { nextDates, rhythmOf } from "../../../console/run/schedule.ts";

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

  it("is due at the time of its zone, and not after its end", () => {
    const from = new Date("2026-03-27T12:00:00Z");
    const times = { schedule: "0 9 * * *", timezone: "Europe/Berlin", end_time: "2026-03-30T00:00:00Z" };
    // The clocks go on in the night before the second day.
    expect(nextDates(times, 5, from)?.map((date) => date.toISOString())).toEqual([
      "2026-03-28T08:00:00.000Z",
      "2026-03-29T07:00:00.000Z",
    ]);
    expect(nextDates({ ...times, schedule: "at nine" }, 5, from)).toBeUndefined();
    expect(nextDates({ ...times, timezone: "Nowhere" }, 5, from)).toBeUndefined();
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
