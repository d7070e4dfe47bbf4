import { z } from "zod";
import { answering, success } from "../result.ts";
import { defineTool } from "../tool.ts";
import { Day, noTask, TaskId, taskLine } from "./task-form.ts";

/** Plans a task for a day; a day it has already changes nothing (PLANNER-01, PLANNER-04). */
export const createSchedule = defineTool({
  name: "create_schedule",
  description: "Plans an existing planner task for a day. A task may be planned for several days.",
  schema: z.object({ task_id: TaskId, scheduled_date: Day.describe("the day, YYYY-MM-DD") }),
  effect: "idempotent",
  timeoutSeconds: 60,
  // Reads and then writes: two of them at once would lose one date.
  resources: () => ["tasks"],
  kinds: ["SimpleModify"],
  operation: async () => ({ type: "SimpleModify" }),
  run: (input, context) =>
    answering(async () => {
      const task = await context.tasks.get(input.task_id);
      if (!task) throw noTask(input.task_id);
      const scheduled_dates = [...new Set([...task.scheduled_dates, input.scheduled_date])].toSorted();
      const updated = await context.tasks.update(input.task_id, { scheduled_dates });
      if (!updated) throw noTask(input.task_id);
      return success(`Task "${updated.title}" is scheduled for ${input.scheduled_date}.`, {
        content: `Scheduled: ${taskLine(updated)}`,
        data: updated,
      });
    }),
  example: {
    title: "Plan for a day",
    body: '{"task_id": "019c0b6e-5b6c-7c3e-8d5a-2f6f0a4c9b11", "scheduled_date": "2026-03-02"}',
  },
});
