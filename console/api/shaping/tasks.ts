import { useQuery } from "@tanstack/react-query";
import * as z from "zod/mini";
import type { Task, TaskMove } from "../../run/tasks.ts";
import { perform, request, send, type RequestOptions } from "../client.ts";
import { queryClient } from "../threads.ts";

const TaskShape = z.object({
  id: z.string(),
  title: z.string(),
  completed: z.boolean(),
  area_id: z.nullable(z.string()),
  scheduled_dates: z.array(z.string()),
  thread_id: z.nullable(z.string()),
  created_at: z.string(),
  updated_at: z.string(),
});
const One = z.object({ data: TaskShape });
const Found = z.object({ data: z.array(TaskShape) });
const Schedule = z.object({ data: z.object({ schedule_id: z.string() }) });
const Areas = z.object({
  data: z.array(
    z.object({
      area_id: z.nullable(z.string()),
      total: z.number(),
      open: z.number(),
      completed: z.number(),
      overdue: z.number(),
    }),
  ),
});

/** Tasks of a page of the search. */
const pageSize = 1_000;

/** All tasks of an area, of those without one (`null`), or of all areas. */
export function useTasks(area: string | null | undefined) {
  return useQuery({
    queryKey: ["tasks", "of", area],
    queryFn: async ({ signal }): Promise<Task[]> => {
      const tasks: Task[] = [];
      for (;;) {
        const body = { limit: pageSize, offset: tasks.length, ...(area !== undefined && { area_id: area }) };
        const response = await send("/api/tasks/search", { method: "POST", body, signal });
        const { data } = z.parse(Found, await response.json());
        tasks.push(...data);
        if (response.headers.get("X-Pagination-Next") === null || data.length === 0) return tasks;
      }
    },
    placeholderData: (before) => before,
  });
}

/** The areas that tasks belong to. */
export function useAreas(today: string) {
  return useQuery({
    queryKey: ["tasks", "areas", today],
    queryFn: async ({ signal }) => (await request(`/api/areas?today=${today}`, Areas, { signal })).data,
  });
}

/** One task. */
export function useTask(id: string) {
  return useQuery({
    queryKey: ["tasks", "one", id],
    queryFn: async ({ signal }) => (await request(taskPath(id), One, { signal })).data,
  });
}

const Said = z.object({ message: z.string(), message_zh: z.optional(z.string()) });
const Log = z.object({
  calls: z.array(z.object({ call_id: z.string(), tool: z.string(), started_at: z.string(), result: z.unknown() })),
});
/** A call that has made or changed a task: what came of it, and in which message. */
export interface TaskCall {
  id: string;
  message: string;
  at: string;
  said: z.infer<typeof Said>;
}

/** What the calls of a chat have done to a task, oldest first. */
export function useTaskCalls(threadId: string | null, taskId: string) {
  return useQuery({
    queryKey: ["tasks", "calls", threadId, taskId],
    queryFn: async ({ signal }): Promise<TaskCall[]> => {
      const path = `/threads/${encodeURIComponent(threadId ?? "")}/tool-log?limit=1000`;
      const { calls } = await request(path, Log, { signal });
      const own = calls.filter(({ tool, result }) => /task|schedule/u.test(tool) && isAbout(result, taskId));
      return own.toReversed().flatMap(({ call_id: id, started_at: at, result }) => {
        const said = z.safeParse(Said, result).data;
        return said === undefined ? [] : [{ id, message: id.slice(0, Math.max(0, id.lastIndexOf("/"))), at, said }];
      });
    },
    enabled: threadId !== null,
    retry: false,
  });
}

const About = z.object({ data: z.object({ id: z.optional(z.string()), task_id: z.optional(z.string()) }) });

function isAbout(result: unknown, taskId: string): boolean {
  const { id, task_id } = z.safeParse(About, result).data?.data ?? {};
  return id === taskId || task_id === taskId;
}

const taskPath = (id: string): string => `/api/tasks/${encodeURIComponent(id)}`;

/** Makes a task, with a day or without. */
export async function createTask(task: { title: string; scheduled_date?: string; area_id?: string }): Promise<void> {
  await changed("/api/tasks", { method: "POST", body: task });
}

/** Changes what is named of a task. */
export async function changeTask(
  id: string,
  fields: Partial<Pick<Task, "title" | "completed" | "area_id">>,
): Promise<void> {
  await changed(taskPath(id), { method: "PATCH", body: fields });
}

/** Plans a task for a day. */
export async function planTask(id: string, day: string): Promise<void> {
  await changed(`${taskPath(id)}/schedules`, { method: "POST", body: { scheduled_date: day } });
}

/** Moves a task; `isDone`: how it is now. */
export async function moveTask(id: string, isDone: boolean, { plan, unplan, completed }: TaskMove): Promise<void> {
  try {
    for (const day of plan)
      await perform(`${taskPath(id)}/schedules`, { method: "POST", body: { scheduled_date: day } });
    for (const day of unplan) await removeDay(id, day);
    if (completed !== isDone) await perform(taskPath(id), { method: "PATCH", body: { completed } });
  } finally {
    await queryClient.invalidateQueries({ queryKey: ["tasks"] });
  }
}

/** Takes a day of a task back. */
export async function unplanTask(id: string, day: string): Promise<void> {
  await removeDay(id, day);
  await queryClient.invalidateQueries({ queryKey: ["tasks"] });
}

async function removeDay(id: string, day: string): Promise<void> {
  // To plan a task for a day that it has changes nothing and tells the id of that.
  const body = { scheduled_date: day };
  const { data } = await request(`${taskPath(id)}/schedules`, Schedule, { method: "POST", body });
  await perform(`${taskPath(id)}/schedules/${encodeURIComponent(data.schedule_id)}`, { method: "DELETE" });
}

/** Deletes a task with its days. */
export async function deleteTask(id: string): Promise<void> {
  await changed(taskPath(id), { method: "DELETE" });
}

async function changed(path: string, options: RequestOptions): Promise<void> {
  await perform(path, options);
  await queryClient.invalidateQueries({ queryKey: ["tasks"] });
}
