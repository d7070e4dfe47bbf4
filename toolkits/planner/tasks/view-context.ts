import { z } from "zod";
import type { TaskView } from "@millrace/engine/storage/record-stores";
import type { ToolkitWorkflow } from "../../../src/toolkits/toolkit.ts";
import { isDay } from "./task-form.ts";

/** What a planner shows, as clients and models write it: a day, what has no date, or an area. */
export const ViewContext = z
  .string()
  .trim()
  .refine((text) => toView(text) !== undefined, {
    error: (issue) =>
      `expected daily::YYYY-MM-DD with a date that exists, staging, or area::<uuid>, got ${JSON.stringify(issue.input)}`,
  })
  .describe("daily::YYYY-MM-DD, staging or area::<uuid>");

/** The view that a checked text names. */
export function viewOf(text: string): TaskView {
  return toView(text) ?? {};
}

function toView(text: string): TaskView | undefined {
  if (text === "staging") return { staging: true };
  const [form, value = "", ...rest] = text.split("::");
  if (rest.length > 0) return undefined;
  if (form === "daily" && isDay(value)) return { day: value };
  if (form === "area" && z.uuid().safeParse(value).success) return { area_id: value };
  return undefined;
}

/** The text that names a view. */
export function viewText({ day, staging, area_id }: TaskView): string | undefined {
  if (day !== undefined) return `daily::${day}`;
  if (staging === true) return "staging";
  return area_id === undefined ? undefined : `area::${area_id}`;
}

/** The keys of a run's context that are about tasks. */
const plannerContext = {
  /** What the user's planner shows: a day, what has no date, or an area. */
  view_context: z
    .string()
    .regex(/^(?:daily::\d{4}-\d{2}-\d{2}|staging|area::[0-9a-fA-F-]{36})$/u, {
      error: "expected daily::YYYY-MM-DD, staging or area::<uuid>",
    })
    .optional(),
};
const PlannerContext = z.object(plannerContext);

/** What the planner adds to the workflow: the view that the user sees, and the area of it. */
export const plannerWorkflow: ToolkitWorkflow = {
  context: plannerContext,
  identityVariables: {
    view_context: (_state, context) => PlannerContext.parse(context).view_context ?? null,
    current_area_id: (_state, context) =>
      /^area::(.+)$/u.exec(PlannerContext.parse(context).view_context ?? "")?.[1] ?? null,
  },
};
