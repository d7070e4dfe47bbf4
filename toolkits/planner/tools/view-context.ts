import { z } from "zod";
import type { TaskView } from "@millrace/engine/storage/task-store";
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
