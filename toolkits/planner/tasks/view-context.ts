import { z } from "zod";
import type { TaskView } from "@millrace/engine/storage/record-stores";
import type { ToolkitWorkflow } from "../../../src/toolkits/toolkit.ts";
import { isDay } from "./task-form.ts";

/** A planner view as clients and models write it: a day, undated tasks, or an area. */
export const ViewContext = z
  .string()
  .trim()
  .refine((text) => toView(text) !== undefined, {
    error: (issue) =>
      `expected daily::YYYY-MM-DD with a date that exists, staging, or area::<uuid>, got ${JSON.stringify(issue.input)}`,
  })
  .describe("daily::YYYY-MM-DD, staging or area::<uuid>");

/** The view of a validated text. */
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

/** The text of a view. */
export function viewText({ day, staging, area_id }: TaskView): string | undefined {
  if (day !== undefined) return `daily::${day}`;
  if (staging === true) return "staging";
  return area_id === undefined ? undefined : `area::${area_id}`;
}

/** The task keys of a run's context. */
const plannerContext = {
  /** The user's planner view: a day, undated tasks, or an area. */
  view_context: z
    .string()
    .regex(/^(?:daily::\d{4}-\d{2}-\d{2}|staging|area::[0-9a-fA-F-]{36})$/u, {
      error: "expected daily::YYYY-MM-DD, staging or area::<uuid>",
    })
    .optional(),
};
const PlannerContext = z.object(plannerContext);

/** The planner's part of the workflow: the user's view, and its area. */
export const plannerWorkflow: ToolkitWorkflow = {
  context: plannerContext,
  identityVariables: {
    view_context: (_state, context) => PlannerContext.parse(context).view_context ?? null,
    current_area_id: (_state, context) =>
      /^area::(.+)$/u.exec(PlannerContext.parse(context).view_context ?? "")?.[1] ?? null,
  },
};
