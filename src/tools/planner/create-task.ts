import { createHash } from "node:crypto";
import { z } from "zod";
import { answering, success } from "../result.ts";
import type { Task } from "../../storage/records.ts";
import { defineTool, type ToolContext, type ToolResult } from "../tool.ts";
import { Day, Title, taskLine } from "./task-form.ts";

/** Makes a planner task (PLANNER-01, PLANNER-04). */
export const createTask = defineTool({
  name: "create_task",
  description:
    "Creates one task in the planner. Without a date it goes to the staging list. For several tasks call it once each.",
  schema: z.object({
    title: Title.describe("what is to be done"),
    area_id: z.uuid("expected the UUID of an area").optional().describe("UUID of the area it belongs to"),
    scheduled_date: Day.optional().describe("day it is planned for, YYYY-MM-DD"),
  }),
  // The id comes from the call, so a task that it has made already is found again.
  effect: "reconcilable",
  timeoutSeconds: 60,
  resources: () => ["tasks"],
  kinds: ["Create"],
  operation: async () => ({ type: "Create" }),
  run: (input, context) =>
    answering(async () => {
      const now = new Date().toISOString();
      const task = await context.tasks.create({
        task_id: taskIdOf(context),
        title: input.title,
        completed: false,
        area_id: input.area_id ?? null,
        scheduled_dates: input.scheduled_date === undefined ? [] : [input.scheduled_date],
        created_at: now,
        updated_at: now,
      });
      return created(task);
    }),
  async reconcile(_, context) {
    const task = await context.tasks.get(taskIdOf(context));
    return task === undefined ? { kind: "not_done" } : { kind: "done", result: created(task) };
  },
  example: { title: "With a day", body: '{"title": "Write the report", "scheduled_date": "2026-03-02"}' },
});

/** A UUID (version 8, RFC 9562) that is the same whenever this call is made. */
function taskIdOf({ sessionId, callId }: ToolContext): string {
  const hex = createHash("sha256")
    .update(JSON.stringify([sessionId, callId]))
    .digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

function created(task: Task): ToolResult {
  return success(`Task created: "${task.title}".`, { content: `Task created: ${taskLine(task)}`, data: task });
}
