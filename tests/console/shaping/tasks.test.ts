import { describe, expect, it } from "vitest";
import { byState, plannedFrom, stateOf, weekOf, type Task } from "../../../console/run/tasks.ts";

const today = "2026-03-04";
const task = (title: string, scheduled_dates: string[], fields: Partial<Task> = {}): Task => ({
  id: title,
  title,
  completed: false,
  area_id: null,
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

it.each([
  ["2026-03-04", "2026-03-02", "2026-03-08"],
  ["2026-03-02", "2026-03-02", "2026-03-08"],
  ["2026-03-01", "2026-02-23", "2026-03-01"],
])("the week of %s goes from %s to %s", (day, first, last) => {
  const days = weekOf(day);
  expect([days[0], days.at(-1), days.length]).toEqual([first, last, 7]);
});
