import { z } from "zod";
import { success, type ToolResult } from "../../../src/tools/runtime/result.ts";
import type { Task } from "@millrace/engine/storage/records";
import { defineTool, type ToolContext } from "../../../src/tools/runtime/tool.ts";
import { stableId } from "../tasks/stable-id.ts";
import { AreaId, Day, newTask, taskData, taskLine, Title } from "../tasks/task-form.ts";
import { tasksOf } from "../tasks/session-tasks.ts";

/** Creates a planner task. */
export const createTask = defineTool({
  name: "create_task",
  description:
    "Creates one task in the planner. Without a date it goes to the staging list. For several tasks call it once each.",
  schema: z.object({
    title: Title.describe("what is to be done"),
    area_id: AreaId.optional().describe("UUID of the area it belongs to"),
    scheduled_date: Day.optional().describe("day it is planned for, YYYY-MM-DD"),
  }),
  // The id derives from the call, so a task it already created is found again.
  effect: "reconcilable",
  resources: () => ["tasks"],
  kinds: ["Create"],
  operation: async () => ({ type: "Create" }),
  run: async (input, context) =>
    created(await tasksOf(context).create(newTask(taskIdOf(context), context.sessionId, input), context.signal)),
  async reconcile(_, context) {
    if (!tasksOf(context).keepsIds) return { kind: "unknown" };
    const task = await tasksOf(context).get(taskIdOf(context), context.signal);
    return task === undefined ? { kind: "not_done" } : { kind: "done", result: created(task) };
  },
  example: { title: "With a day", body: '{"title": "Write the report", "scheduled_date": "2026-03-02"}' },
});

function taskIdOf({ sessionId, callId }: ToolContext): string {
  return stableId(sessionId, callId);
}

function created(task: Task): ToolResult {
  return success(`Task created: "${task.title}".`, {
    content: `Task created: ${taskLine(task)}`,
    data: taskData(task),
    message_zh: `任务「${task.title}」已创建。`,
  });
}
