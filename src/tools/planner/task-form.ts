import { z } from "zod";
import { AppError } from "../../errors.ts";
import type { Task } from "../../storage/records.ts";

/** A day that exists, as `YYYY-MM-DD` (PLANNER-03). */
export const Day = z
  .string()
  .refine(isDay, { error: (issue) => `expected a date that exists as YYYY-MM-DD, got ${JSON.stringify(issue.input)}` });

/** What a task is called: 1 to 500 characters, without blanks around it. */
export const Title = z
  .string()
  .trim()
  .min(1, "expected a title that is not empty")
  .max(500, "expected a title of at most 500 characters");

/** The id of a task as the model gives it; whether it exists is the store's to say (PLANNER-03). */
export const TaskId = z.string().trim().min(1, "expected the id of a task").describe("id of the task, from read_tasks");

/** Whether a text is a date of the calendar as `YYYY-MM-DD`; 2026-02-30 is not. */
export function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

/** A task as one line for the model. */
export function taskLine(task: Task): string {
  const days = task.scheduled_dates.length === 0 ? "no date" : task.scheduled_dates.join(", ");
  const area = task.area_id === null ? "" : `, area ${task.area_id}`;
  return `[${task.completed ? "x" : " "}] ${task.title} (${days}${area}; id ${task.task_id})`;
}

/** The error for an id that no task has (PLANNER-03). */
export function noTask(taskId: string): AppError {
  return new AppError("not_found", `There is no task with the id "${taskId}".`, {
    suggestion: "read_tasks shows the tasks with their ids.",
  });
}
