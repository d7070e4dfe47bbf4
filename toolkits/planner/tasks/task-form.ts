import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import type { Task } from "@millrace/engine/storage/records";
import { stableId } from "./stable-id.ts";

/** An existing day as `YYYY-MM-DD`. */
export const Day = z
  .string()
  .refine(isDay, { error: (issue) => `expected a date that exists as YYYY-MM-DD, got ${JSON.stringify(issue.input)}` });

/** A task's title: 1 to 500 characters, trimmed. */
export const Title = z
  .string()
  .trim()
  .min(1, "expected a title that is not empty")
  .max(500, "expected a title of at most 500 characters");

/** The id of an area: clients manage areas; only their ids are known here. */
export const AreaId = z.uuid("expected the UUID of an area");

/** A task's id from the model; the store knows whether it exists. */
export const TaskId = z.string().trim().min(1, "expected the id of a task").describe("id of the task, from read_tasks");

/** Whether a text is a valid date as `YYYY-MM-DD`; 2026-02-30 is not. */
export function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

/** A new task, without an owner yet; `session_id`: in which it is made. */
export function newTask(
  taskId: string,
  session_id: string | null,
  given: { title: string; area_id?: string | null | undefined; scheduled_date?: string | null | undefined },
): Task {
  const now = new Date().toISOString();
  const { title, area_id = null, scheduled_date = null } = given;
  const scheduled_dates = scheduled_date === null ? [] : [scheduled_date];
  return {
    task_id: taskId,
    owner: null,
    session_id,
    title,
    completed: false,
    area_id,
    scheduled_dates,
    created_at: now,
    updated_at: now,
  };
}

/** A task in tools and the HTTP API. */
export const TaskData = z
  .object({
    id: z.string(),
    title: z.string(),
    completed: z.boolean(),
    area_id: z.string().nullable(),
    scheduled_dates: z.array(z.string()).describe("YYYY-MM-DD, the earliest first"),
    thread_id: z.string().nullable().describe("In which it was made; null: by hand, or not known"),
    created_at: z.string(),
    updated_at: z.string(),
  })
  .meta({ ref: "Task" });
export type TaskData = z.infer<typeof TaskData>;

/** The task without the server's own fields. */
export function taskData({ task_id: id, owner: _owner, session_id: thread_id, ...task }: Task): TaskData {
  return { id, ...task, thread_id };
}

/** A scheduled day of a task, in tools and the HTTP API. */
export const ScheduleData = z
  .object({ schedule_id: z.string(), task_id: z.string(), scheduled_date: z.string() })
  .meta({ ref: "TaskSchedule" });
export type ScheduleData = z.infer<typeof ScheduleData>;

/** A task has at most one schedule per day, so both identify it. */
export function scheduleData(taskId: string, day: string): ScheduleData {
  return { schedule_id: stableId("schedule", taskId, day), task_id: taskId, scheduled_date: day };
}

/** A task as one line for the model. */
export function taskLine(task: Task): string {
  const days = task.scheduled_dates.length === 0 ? "no date" : task.scheduled_dates.join(", ");
  const area = task.area_id === null ? "" : `, area ${task.area_id}`;
  return `[${task.completed ? "x" : " "}] ${task.title} (${days}${area}; id ${task.task_id})`;
}

/** The error for an unknown task id. */
export function noTask(taskId: string): AppError {
  return new AppError("not_found", `There is no task with the id "${taskId}".`, {
    suggestion: "read_tasks shows the tasks with their ids.",
  });
}
