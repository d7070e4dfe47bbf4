import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Task } from "@millrace/engine/storage/records";
import { plannerTools as tools } from "../tools/index.ts";
import { aWorkspace, type Workspace } from "../../../tests/support/a-workspace.ts";
import { tasksOf } from "../tasks/session-tasks.ts";
import type { ToolResult } from "../../../src/tools/runtime/result.ts";

const area = "0f0e0d0c-0b0a-4908-8706-050403020100";
let workspace: Workspace;

beforeEach(async () => {
  workspace = await aWorkspace();
});

afterEach(async () => {
  await workspace[Symbol.asyncDispose]();
});

/** The task a result speaks of, as the store has it. */
async function taskOf(result: ToolResult): Promise<Task> {
  const { data } = result;
  const id = typeof data === "object" && data !== null && "id" in data ? String(data.id) : "";
  const task = await tasksOf(workspace.context).get(id);
  if (!task) throw new Error(`no task in ${JSON.stringify(result)}`);
  return task;
}

const create = (input: object) => workspace.call(tools.create_task, input);
const read = (view_context: string) => workspace.call(tools.read_tasks, { view_context });

describe("the planner", () => {
  it("creates a task with a title, an area and a date", async () => {
    const result = await create({ title: "  Write the report ", area_id: area, scheduled_date: "2028-02-29" });
    expect(result).toMatchObject({ success: true, message: 'Task created: "Write the report".' });
    expect(await taskOf(result)).toMatchObject({
      title: "Write the report",
      completed: false,
      area_id: area,
      scheduled_dates: ["2028-02-29"],
    });
  });

  it("shows tasks by day, by area and without a date", async () => {
    await create({ title: "on a day", scheduled_date: "2026-03-02" });
    await create({ title: "in an area", area_id: area });
    await create({ title: "somewhere" });
    expect(await read("daily::2026-03-02")).toMatchObject({
      message: "1 task found.",
      data: { tasks: [{ title: "on a day" }] },
    });
    expect(await read(`area::${area}`)).toMatchObject({
      message: "1 task found.",
      data: { tasks: [{ title: "in an area" }] },
    });
    const staging = await read("staging");
    expect(staging).toMatchObject({ message: "2 tasks found." });
    expect(staging.content).toMatch(/\[ \] in an area .*\n\[ \] somewhere \(no date; id /);
    expect(await read("daily::2026-03-03")).toMatchObject({
      success: true,
      data: { tasks: [] },
      content: "No tasks in daily::2026-03-03.",
    });
  });

  it("changes only what is given", async () => {
    const task = await taskOf(await create({ title: "old", scheduled_date: "2026-03-02" }));
    const renamed = await workspace.call(tools.update_task, { task_id: task.task_id, title: "new" });
    expect(renamed).toMatchObject({ success: true, message: 'Task updated: "new".' });
    const done = await workspace.call(tools.update_task, { task_id: task.task_id, completed: "true" });
    expect(await taskOf(done)).toMatchObject({ title: "new", completed: true, scheduled_dates: ["2026-03-02"] });
  });

  it("plans a task for further days, each once, in order", async () => {
    const { task_id } = await taskOf(await create({ title: "run", scheduled_date: "2026-03-02" }));
    const schedules = new Set<unknown>();
    for (const scheduled_date of ["2026-03-09", "2026-03-01", "2026-03-09"]) {
      const result = await workspace.call(tools.create_schedule, { task_id, scheduled_date });
      expect(result).toMatchObject({
        success: true,
        message: `Task "run" is scheduled for ${scheduled_date}.`,
        data: { task_id, scheduled_date, schedule_id: expect.stringMatching(/^[0-9a-f-]{36}$/u) },
      });
      schedules.add((result.data as { schedule_id: string }).schedule_id); // checked just above
    }
    expect(schedules.size).toBe(2);
    const task = await tasksOf(workspace.context).get(task_id);
    expect(task?.scheduled_dates).toEqual(["2026-03-01", "2026-03-02", "2026-03-09"]);
  });

  it("deletes a task, and is content when a repeated call finds it gone", async () => {
    const { task_id } = await taskOf(await create({ title: "away" }));
    const result = await workspace.call(tools.delete_task, { task_id });
    expect(result).toMatchObject({ success: true, message: 'Task deleted: "away".', data: null });
    expect(await tasksOf(workspace.context).get(task_id)).toBeUndefined();
    expect(await workspace.call(tools.delete_task, { task_id })).toMatchObject({
      success: false,
      errorType: "not_found",
    });
    expect(await workspace.call(tools.delete_task, { task_id }, true)).toMatchObject({ success: true });
  });

  it.each([
    ["create_task", {}, "missing_parameter", /"title".*is missing/],
    ["create_task", { title: "  " }, "invalid_parameter", /not empty/],
    ["create_task", { title: "x".repeat(501) }, "invalid_parameter", /500/],
    ["create_task", { title: "a", area_id: "home" }, "invalid_parameter", /UUID of an area/],
    [
      "create_task",
      { title: "a", scheduled_date: "2026-02-30" },
      "invalid_parameter",
      /date that exists.*"2026-02-30"/,
    ],
    ["create_task", { title: "a", scheduled_date: "2027-02-29" }, "invalid_parameter", /date that exists/],
    ["create_task", { title: "a", scheduled_date: "tomorrow" }, "invalid_parameter", /YYYY-MM-DD/],
    ["create_task", { title: "a", scheduled_date: "2026-3-2" }, "invalid_parameter", /YYYY-MM-DD/],
    ["create_task", { title: "a", scheduled_date: "2026-13-01" }, "invalid_parameter", /YYYY-MM-DD/],
    ["read_tasks", {}, "missing_parameter", /view_context/],
    [
      "read_tasks",
      { view_context: "daily::2026-02-30" },
      "invalid_parameter",
      /daily::YYYY-MM-DD.*staging.*area::<uuid>/,
    ],
    ["read_tasks", { view_context: "daily" }, "invalid_parameter", /staging/],
    ["read_tasks", { view_context: "area::home" }, "invalid_parameter", /area::<uuid>/],
    ["read_tasks", { view_context: `area::${area}::x` }, "invalid_parameter", /area::<uuid>/],
    ["update_task", { task_id: "x", title: "a" }, "not_found", /no task with the id "x".*read_tasks/],
    ["update_task", { task_id: "x" }, "missing_parameter", /neither title nor completed/],
    ["update_task", { title: "a" }, "missing_parameter", /task_id/],
    ["create_schedule", { task_id: "x", scheduled_date: "2026-03-02" }, "not_found", /"x"/],
    ["create_schedule", { task_id: "x", scheduled_date: "2026-06-31" }, "invalid_parameter", /date that exists/],
    ["delete_task", { task_id: " " }, "invalid_parameter", /id of a task/],
  ] as const)("%s with %j is answered clearly", async (name, input, errorType, message) => {
    const result = await workspace.call(tools[name], input);
    expect(result).toMatchObject({ success: false, errorType });
    expect(result.content).toMatch(message);
  });
});
