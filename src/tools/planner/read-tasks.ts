import { z } from "zod";
import type { TaskStore } from "../../storage/storage.ts";
import { answering, success } from "../result.ts";
import { defineTool } from "../tool.ts";
import { isDay, taskLine } from "./task-form.ts";

/** Tasks written out for the model; the client gets all. */
const shownTasks = 50;

type View = Parameters<TaskStore["find"]>[0];

/** Lists the tasks of a view (PLANNER-02). */
export const readTasks = defineTool({
  name: "read_tasks",
  description:
    "Lists the tasks of one view of the planner: daily::YYYY-MM-DD for a day, staging for tasks without a date, " +
    "area::<uuid> for an area.",
  schema: z.object({
    view_context: z
      .string()
      .trim()
      .refine((text) => toView(text) !== undefined, {
        error: (issue) =>
          `expected daily::YYYY-MM-DD with a date that exists, staging, or area::<uuid>, got ${JSON.stringify(issue.input)}`,
      })
      .describe("daily::YYYY-MM-DD, staging or area::<uuid>"),
  }),
  effect: "pure",
  timeoutSeconds: 60,
  resources: () => [],
  kinds: ["Query"],
  operation: async () => ({ type: "Query" }),
  run: (input, context) =>
    answering(async () => {
      const tasks = await context.tasks.find(toView(input.view_context) ?? {});
      const message = tasks.length === 1 ? "1 task found." : `${tasks.length} tasks found.`;
      if (tasks.length === 0) return success(`No tasks in ${input.view_context}.`, { data: tasks });
      const lines = tasks.slice(0, shownTasks).map(taskLine);
      const more = tasks.length > shownTasks ? [`[${tasks.length - shownTasks} more are not shown]`] : [];
      return success(message, { content: [message, ...lines, ...more].join("\n"), data: tasks });
    }),
  example: { title: "One day", body: '{"view_context": "daily::2026-03-02"}' },
});

function toView(text: string): View | undefined {
  if (text === "staging") return { staging: true };
  const [form, value = "", ...rest] = text.split("::");
  if (rest.length > 0) return undefined;
  if (form === "daily" && isDay(value)) return { day: value };
  if (form === "area" && z.uuid().safeParse(value).success) return { area_id: value };
  return undefined;
}
