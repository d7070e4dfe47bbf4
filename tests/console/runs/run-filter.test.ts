import { describe, expect, it } from "vitest";
import { barsOf, filterOf, histogramOf, readChosen, rowsOf } from "../../../console/run/run-filter.ts";

const now = Date.parse("2026-11-25T12:34:56.789Z");
const chosenOf = (words: string) => readChosen(new URLSearchParams(words));

describe("the filters of the list of runs", () => {
  it.each([
    ["", {}],
    ["state=error&graph=agent&thread=t1", { status: "error", graph_id: "agent", thread_id: "t1" }],
    ["time=hour", { from: "2026-11-25T11:34:00.000Z" }],
    [
      "from=2026-11-01T00:00:00.000Z&to=2026-11-02T00:00:00.000Z&time=hour",
      { from: "2026-11-01T00:00:00.000Z", to: "2026-11-02T00:00:00.000Z" },
    ],
    ["state=lost&time=never&from=yesterday&to=today", {}],
    ["from=2026-11-02T00:00:00.000Z&to=2026-11-01T00:00:00.000Z", {}],
    ["time=constructor", {}],
  ])("reads %j from the address", (words, filter) => {
    expect(filterOf(chosenOf(words), now)).toEqual(filter);
  });

  it.each([
    ["time=hour", "minute"],
    ["time=day", "hour"],
    ["time=week", "hour"],
    ["time=month", "day"],
    ["", "day"],
  ])("shows %j in bars of a %s", (words, bucket) => {
    expect(histogramOf(chosenOf(words), now).bucket).toBe(bucket);
  });

  it("has a bar for each span, also where nothing ran, and counts what failed", () => {
    const minute = 60_000;
    const from = now - 3 * minute;
    const counts = [
      { at: "2026-11-25T12:32:00.000Z", status: "success", count: 2 },
      { at: "2026-11-25T12:32:00.000Z", status: "error", count: 1 },
      { at: "2026-11-25T12:34:00.000Z", status: "timeout", count: 4 },
      { at: "2026-11-20T12:34:00.000Z", status: "success", count: 9 },
    ] as const;
    expect(barsOf(counts, from, now, minute).map(({ count, failed }) => [count, failed])).toEqual([
      [0, 0],
      [3, 1],
      [0, 0],
      [4, 4],
    ]);
  });

  it("has a head before each day", () => {
    const runs = ["2026-11-25T12:00:00Z", "2026-11-25T11:00:00Z", "2026-11-23T12:00:00Z"].map((queued_at, index) => ({
      run_id: String(index),
      queued_at,
    }));
    expect(rowsOf(runs).map(({ kind }) => kind)).toEqual(["day", "run", "run", "day", "run"]);
  });
});
