import { describe, expect, it } from "vitest";
import { plannedIn } from "../../../console/run/planned-words.ts";
import { byState, moveOf, plannedFrom, reverseOf, stateOf, weekOf, type Task } from "../../../console/run/tasks.ts";

const today = "2026-03-04";
const task = (title: string, scheduled_dates: string[], fields: Partial<Task> = {}): Task => ({
  id: title,
  title,
  completed: false,
  area_id: null,
  thread_id: null,
  scheduled_dates,
  created_at: "2026-03-01T00:00:00Z",
  updated_at: "2026-03-01T00:00:00Z",
  ...fields,
});

describe("a task", () => {
  it.each([
    [[], false, "undated"],
    [["2026-03-03"], false, "overdue"],
    [["2026-03-03", "2026-03-09"], false, "planned"],
    [["2026-03-03", "2026-03-04"], false, "today"],
    [["2026-03-03"], true, "done"],
  ])("with the days %j, done %j, is %s", (days, completed, state) => {
    expect(stateOf(task("a", days, { completed }), today)).toBe(state);
  });

  it("stands in its group by the day that comes next", () => {
    const groups = byState(
      [task("later", ["2026-03-01", "2026-03-09"]), task("sooner", ["2026-03-05"]), task("late", ["2026-03-01"])],
      today,
    );
    expect(groups.planned.map(({ title }) => title)).toEqual(["sooner", "later"]);
    expect(groups.overdue.map(({ title }) => title)).toEqual(["late"]);
  });

  it("counts on each day that it is planned for", () => {
    const tasks = [task("a", ["2026-03-04", "2026-03-05"]), task("b", ["2026-03-05"])];
    expect(plannedFrom(tasks, "2026-03-03", 3).map(({ value }) => value)).toEqual([0, 1, 2]);
  });
});

describe("a task that is moved", () => {
  const several = task("a", ["2026-03-02", "2026-03-05"]);
  it.each([
    [several, { day: "2026-03-04" }, "2026-03-05", { plan: ["2026-03-04"], unplan: ["2026-03-05"], completed: false }],
    [
      several,
      { day: "2026-03-04" },
      undefined,
      { plan: ["2026-03-04"], unplan: [...several.scheduled_dates], completed: false },
    ],
    [several, { day: "2026-03-05" }, "2026-03-02", { plan: [], unplan: ["2026-03-02"], completed: false }],
    [several, { day: "2026-03-05" }, "2026-03-05", { plan: [], unplan: [], completed: false }],
    [several, "undated", "2026-03-05", { plan: [], unplan: [...several.scheduled_dates], completed: false }],
    [several, "done", undefined, { plan: [], unplan: [], completed: true }],
    [
      task("b", [], { completed: true }),
      { day: "2026-03-05" },
      undefined,
      { plan: ["2026-03-05"], unplan: [], completed: false },
    ],
  ] as const)("has what it is to have, and the way back: %j to %j from %s", (moved, to, from, change) => {
    const move = moveOf(moved, to, from);
    expect(move).toEqual(change);
    const { plan, unplan, completed } = reverseOf(move, moved);
    const days = new Set([...moved.scheduled_dates, ...move.plan].filter((day) => !move.unplan.includes(day)));
    for (const day of plan) days.add(day);
    for (const day of unplan) days.delete(day);
    expect([[...days].toSorted(), completed]).toEqual([moved.scheduled_dates, moved.completed]);
  });
});

// A Wednesday.
it.each([
  ["Paint the door tomorrow", "Paint the door", "2026-03-05"],
  ["Tomorrow: paint the door", "paint the door", "2026-03-05"],
  ["Call Ann on Friday", "Call Ann", "2026-03-06"],
  ["Call Ann next wednesday", "Call Ann", "2026-03-11"],
  ["Pay in 2 weeks", "Pay", "2026-03-18"],
  ["Pay the day after tomorrow", "Pay", "2026-03-06"],
  ["File it on 3 March", "File it", "2027-03-03"],
  ["File it May 5th", "File it", "2026-05-05"],
  ["File it 2026-12-01", "File it", "2026-12-01"],
  ["明天给安打电话", "给安打电话", "2026-03-05"],
  ["给安打电话，大后天", "给安打电话", "2026-03-07"],
  ["周五开会", "开会", "2026-03-06"],
  ["3天后开会", "开会", "2026-03-07"],
  ["5月5日开会", "开会", "2026-05-05"],
])("“%s” means %s, on %s", (words, title, day) => {
  expect(plannedIn(words, "2026-03-04")).toEqual({ title, day });
});

it.each([
  "Paint the door",
  "Tomorrow",
  "Read 2026-02-30",
  "File it February 30",
  "Buy todays paper",
  "A history of Monday evenings",
])("“%s” names no day", (words) => {
  expect(plannedIn(words, "2026-03-04")).toBeUndefined();
});

it.each([
  ["2026-03-04", "2026-03-02", "2026-03-08"],
  ["2026-03-02", "2026-03-02", "2026-03-08"],
  ["2026-03-01", "2026-02-23", "2026-03-01"],
])("the week of %s goes from %s to %s", (day, first, last) => {
  const days = weekOf(day);
  expect([days[0], days.at(-1), days.length]).toEqual([first, last, 7]);
});
