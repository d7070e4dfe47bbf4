import { describe, expect, it } from "vitest";
import { byModel, daysOf, readChosenDays, sumOf, type ModelDay } from "../../../console/run/model-days.ts";

const chosen = (asked: string) => readChosenDays(new URLSearchParams(asked), "2026-03-30");

function row(day: string, model: string, input_tokens: number, fields: Partial<ModelDay> = {}): ModelDay {
  const used = { requests: 1, failed: 0, input_tokens, output_tokens: 0, cached_tokens: 0, cost: 0.5 };
  return { day, model, ...used, mean_duration_ms: 100, mean_first_token_ms: null, ...fields };
}

describe("the days of models that an address asks for", () => {
  const last30 = { from: "2026-03-01", to: "2026-03-30", count: 30 };
  it.each([
    ["", last30],
    ["days=7", { from: "2026-03-24", to: "2026-03-30", count: 7 }],
    ["from=2026-02-27&to=2026-03-01", { from: "2026-02-27", to: "2026-03-01", count: undefined }],
    ["from=2026-03-02&to=2026-03-01", last30],
    ["from=2020-01-01&to=2026-03-01", last30],
    ["from=soon&to=2026-13-01&days=8", last30],
  ])("are read: %j", (asked, days) => {
    expect(chosen(asked)).toMatchObject(days);
  });

  it("all have a bar, also those on which nothing was asked", () => {
    const rows = [row("2026-03-29", "a", 5), row("2026-03-29", "b", 7), row("2026-03-30", "a", 1)];
    const bars = daysOf(rows, chosen("days=7"));
    expect(bars.map(({ value }) => value)).toEqual([0, 0, 0, 0, 0, 12, 1]);
    expect(daysOf(rows, chosen("days=7&show=cost")).map(({ value }) => value)).toEqual([0, 0, 0, 0, 0, 1, 0.5]);
  });
});

it("sums weigh the time of each day by its calls, and leave out what is not known", () => {
  const rows = [
    row("2026-03-29", "a", 1, { requests: 3, mean_duration_ms: 100, mean_first_token_ms: 10 }),
    row("2026-03-30", "a", 1, { requests: 1, mean_duration_ms: 500 }),
    row("2026-03-30", "b", 9, { requests: 0, failed: 2, mean_duration_ms: null }),
  ];
  expect(sumOf(rows)).toMatchObject({ requests: 4, failed: 2, mean_duration_ms: 200, mean_first_token_ms: 10 });
  expect(byModel(rows).map(({ model }) => model)).toEqual(["b", "a"]);
  expect(sumOf(rows.slice(2)).mean_duration_ms).toBeNull();
});
