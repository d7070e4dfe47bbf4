import { dayAfter } from "./model-days.ts";

/** A task of the planner. */
export interface Task {
  id: string;
  title: string;
  completed: boolean;
  area_id: string | null;
  scheduled_dates: readonly string[];
  /** The chat in which it was made; `null`: by hand. */
  thread_id: string | null;
  created_at: string;
  updated_at: string;
}

/** How the tasks are shown. */
export const taskViews = ["list", "day", "week", "board", "numbers"] as const;
/** One of them. */
export type TaskView = (typeof taskViews)[number];

/** How a task stands: what is late first. */
export const taskStates = ["overdue", "today", "planned", "undated", "done"] as const;
/** One of them. */
export type TaskState = (typeof taskStates)[number];

/** How a task stands on a day. A task with several days is late when all of them have passed. */
export function stateOf({ completed, scheduled_dates: days }: Task, today: string): TaskState {
  if (completed) return "done";
  if (days.length === 0) return "undated";
  if (days.includes(today)) return "today";
  return days.every((day) => day < today) ? "overdue" : "planned";
}

/** The tasks of each state: by the day that counts, then by age; what is done, the newest first. */
export function byState(tasks: readonly Task[], today: string): Record<TaskState, Task[]> {
  const groups: Record<TaskState, Task[]> = { overdue: [], today: [], planned: [], undated: [], done: [] };
  for (const task of tasks) groups[stateOf(task, today)].push(task);
  const due = ({ scheduled_dates: days }: Task): string => days.find((day) => day > today) ?? days.at(-1) ?? "";
  for (const state of ["overdue", "planned"] as const) {
    groups[state].sort(
      (one, other) => due(one).localeCompare(due(other)) || one.created_at.localeCompare(other.created_at),
    );
  }
  groups.done.sort((one, other) => other.updated_at.localeCompare(one.updated_at));
  return groups;
}

/** Where a task can be put: on a day, without a day, or with what is done. */
export type TaskPlace = { day: string } | "undated" | "done";

/** What is changed of a task. */
export interface TaskMove {
  plan: readonly string[];
  unplan: readonly string[];
  completed: boolean;
}

/** What puts a task at a place. `from`: the one of its days that it is taken from; else a day takes the place of all. */
export function moveOf({ scheduled_dates: days, completed }: Task, to: TaskPlace, from?: string): TaskMove {
  if (to === "done") return { plan: [], unplan: [], completed: true };
  if (to === "undated") return { plan: [], unplan: days, completed: false };
  const left = from === undefined ? days : days.filter((day) => day === from);
  return {
    plan: days.includes(to.day) ? [] : [to.day],
    unplan: left.filter((day) => day !== to.day),
    completed: completed && from !== undefined,
  };
}

/** What takes a move of a task back. */
export function reverseOf({ plan, unplan }: TaskMove, { completed }: Task): TaskMove {
  return { plan: unplan, unplan: plan, completed };
}

/** The day of a moment where the person is. */
export function localDay(time: number): string {
  const date = new Date(time);
  const two = (part: number): string => String(part).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** The days of the week of a day, from Monday on. */
export function weekOf(day: string): string[] {
  const monday = dayAfter(day, -((new Date(`${day}T00:00:00Z`).getUTCDay() + 6) % 7));
  return Array.from({ length: 7 }, (_, index) => dayAfter(monday, index));
}

/** How many tasks are planned for each of so many days from one on. */
export function plannedFrom(tasks: readonly Task[], first: string, count: number): { day: string; value: number }[] {
  return Array.from({ length: count }, (_, index) => {
    const day = dayAfter(first, index);
    return { day, value: tasks.filter(({ scheduled_dates }) => scheduled_dates.includes(day)).length };
  });
}
