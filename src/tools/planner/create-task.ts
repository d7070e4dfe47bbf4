import { v7 } from "@langchain/core/utils/uuid";
import { z } from "zod";
import { answering, success } from "../result.ts";
import { defineTool } from "../tool.ts";
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
  // A second call makes a second task, and nothing tells it from one that was wanted.
  effect: "unsafe",
  timeoutSeconds: 60,
  resources: () => ["tasks"],
  operation: async () => ({ type: "Create" }),
  run: (input, context) =>
    answering(async () => {
      const now = new Date().toISOString();
      const task = await context.tasks.create({
        task_id: v7(),
        title: input.title,
        completed: false,
        area_id: input.area_id ?? null,
        scheduled_dates: input.scheduled_date === undefined ? [] : [input.scheduled_date],
        created_at: now,
        updated_at: now,
      });
      return success(`Task created: "${task.title}".`, { content: `Task created: ${taskLine(task)}`, data: task });
    }),
  example: { title: "With a day", body: '{"title": "Write the report", "scheduled_date": "2026-03-02"}' },
});
