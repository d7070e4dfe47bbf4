import { z } from "zod";
import { success } from "../../../src/tools/runtime/result.ts";
import { defineTool } from "../../../src/tools/runtime/tool.ts";
import { Day, noTask, scheduleData, taskData, TaskId, taskLine } from "../tasks/task-form.ts";
import { tasksOf } from "../tasks/session-tasks.ts";

/** Schedules a task for a day; idempotent. */
export const createSchedule = defineTool({
  name: "create_schedule",
  description: "Plans an existing planner task for a day. A task may be planned for several days.",
  schema: z.object({ task_id: TaskId, scheduled_date: Day.describe("the day, YYYY-MM-DD") }),
  effect: "idempotent",
  resources: () => ["tasks"],
  kinds: ["SimpleModify"],
  operation: async () => ({ type: "SimpleModify" }),
  run: async ({ task_id, scheduled_date }, context) => {
    const task = await tasksOf(context).schedule(task_id, scheduled_date, context.signal);
    if (task === undefined) throw noTask(task_id);
    return success(`Task "${task.title}" is scheduled for ${scheduled_date}.`, {
      content: `Scheduled: ${taskLine(task)}`,
      data: { ...scheduleData(task_id, scheduled_date), task: taskData(task) },
      message_zh: `任务「${task.title}」已安排到 ${scheduled_date}。`,
    });
  },
  example: {
    title: "Plan for a day",
    body: '{"task_id": "019c0b6e-5b6c-7c3e-8d5a-2f6f0a4c9b11", "scheduled_date": "2026-03-02"}',
  },
});
