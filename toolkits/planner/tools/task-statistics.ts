import { z } from "zod";
import type { Task } from "@millrace/engine/storage/records";
import { success } from "../../../src/tools/runtime/result.ts";
import { defineTool } from "../../../src/tools/runtime/tool.ts";
import { Day } from "../tasks/task-form.ts";
import { tasksOf } from "../tasks/session-tasks.ts";

/** Task counts by state. A task is overdue if it is open and all its days have passed. */
export const TaskStatistics = z
  .object({
    total: z.number().int(),
    completed: z.number().int(),
    open: z.number().int(),
    without_date: z.number().int().describe("Open ones"),
    overdue: z.number().int(),
    areas: z.array(z.object({ area_id: z.string().nullable(), total: z.number().int(), completed: z.number().int() })),
  })
  .meta({ ref: "TaskStatistics" });
export type TaskStatistics = z.infer<typeof TaskStatistics>;

/** Counts tasks as of a day, `YYYY-MM-DD`; areas in the order of their first task. */
export function countTasks(tasks: readonly Task[], today: string): TaskStatistics {
  const open = tasks.filter(({ completed }) => !completed);
  const areas = Map.groupBy(tasks, ({ area_id }) => area_id);
  return {
    total: tasks.length,
    completed: tasks.length - open.length,
    open: open.length,
    without_date: open.filter(({ scheduled_dates: days }) => days.length === 0).length,
    overdue: open.filter(({ scheduled_dates: days }) => days.length > 0 && days.every((day) => day < today)).length,
    areas: [...areas].map(([area_id, all]) => ({
      area_id,
      total: all.length,
      completed: all.filter(({ completed }) => completed).length,
    })),
  };
}

/** Counts the tasks by state. */
export const taskStatistics = defineTool({
  name: "task_statistics",
  description:
    "Counts the tasks of the planner: all, completed, open, without a date, overdue, and by area. It lists none; read_tasks does.",
  schema: z.object({
    today: Day.optional().describe("the day to count for, YYYY-MM-DD; left out: today by the server's clock (UTC)"),
  }),
  effect: "pure",
  // Few requests are about numbers, and every offered tool makes every request longer.
  offered: { isDefault: false },
  run: async ({ today = new Date().toISOString().slice(0, 10) }, context) => {
    const data = countTasks(await tasksOf(context).find({}, context.signal), today);
    const { total, open, completed, overdue, without_date, areas } = data;
    const message = `${total} tasks: ${open} open, ${completed} completed; ${overdue} overdue, ${without_date} without a date.`;
    const lines = areas.map(
      ({ area_id, total: all, completed: done }) => `- ${area_id ?? "no area"}: ${all} tasks, ${done} completed`,
    );
    const message_zh = `共 ${total} 个任务：未完成 ${open} 个，已完成 ${completed} 个；逾期 ${overdue} 个，未定日期 ${without_date} 个。`;
    return success(message, { content: [message, ...lines].join("\n"), data, message_zh });
  },
  example: { title: "Today", body: "{}" },
});
