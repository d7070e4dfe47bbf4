import { Hono } from "hono";
import { z } from "zod";
import type { Task } from "@millrace/engine/storage/records";
import type { TaskView } from "@millrace/engine/storage/record-stores";
import { describe } from "@millrace/engine/http/describe";
import type { HttpApp, HttpEnvironment } from "@millrace/engine/http/environment";
import { respondJson, pageHeaders } from "@millrace/engine/http/responses/wire";
import { jsonBody, query } from "@millrace/engine/http/validate";
import { AreaId, Day, TaskData, taskData } from "../tasks/task-form.ts";
import { refused, tag, tasksFor, wrapped } from "./tasks-of-caller.ts";

const TaskSearch = z
  .object({
    query: z.string().max(500).optional().describe("A part of the title, in any case"),
    completed: z.boolean().optional(),
    area_id: AreaId.nullable().optional().describe("null: those without an area"),
    scheduled: z.boolean().optional().describe("Whether they have a day"),
    from: Day.optional().describe("Planned for this day or a later one"),
    to: Day.optional().describe("Planned for this day or an earlier one"),
    limit: z.number().int().min(1).max(1_000).default(100),
    offset: z.number().int().min(0).default(0),
  })
  .meta({ ref: "TaskSearch" });
type TaskSearch = z.infer<typeof TaskSearch>;

const Area = z
  .object({
    area_id: z.string().nullable().describe("null: the tasks without an area"),
    total: z.number().int(),
    open: z.number().int(),
    completed: z.number().int(),
    overdue: z.number().int().describe("Open ones whose days have all passed"),
    updated_at: z.string().describe("When a task of it was last changed"),
  })
  .meta({ ref: "TaskArea" });

/** `/api/areas` and `/api/tasks/search`: a look over all tasks of the caller. */
export function taskSearchRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.get(
    "/api/areas",
    describe({
      tag,
      summary: "The areas that tasks belong to, in the order of their first task",
      answer: wrapped(z.array(Area)),
      errors: refused,
    }),
    query(z.object({ today: Day.optional() })),
    async (context) => {
      const tasks = tasksFor(context, "read_tasks");
      const { today = new Date().toISOString().slice(0, 10) } = context.req.valid("query");
      const all = await tasks.find({}, context.req.raw.signal);
      const areas = Map.groupBy(all, ({ area_id }) => area_id);
      return respondJson(context, { data: [...areas].map(([id, own]) => areaOf(id, own, today)) });
    },
  );

  routes.post(
    "/api/tasks/search",
    describe({
      tag,
      summary: "Tasks by title, state, area and days, oldest first",
      answer: wrapped(z.array(TaskData)),
      errors: refused,
    }),
    jsonBody(TaskSearch),
    async (context) => {
      const tasks = tasksFor(context, "read_tasks");
      const asked = context.req.valid("json");
      const found = (await tasks.find(viewOf(asked), context.req.raw.signal)).filter((task) => fits(task, asked));
      const page = found.slice(asked.offset, asked.offset + asked.limit);
      pageHeaders(context, { offset: asked.offset, total: found.length, count: page.length });
      return respondJson(context, { data: page.map(taskData) });
    },
  );
  return routes;
}

function areaOf(area_id: string | null, tasks: readonly Task[], today: string): z.infer<typeof Area> {
  const open = tasks.filter(({ completed }) => !completed);
  return {
    area_id,
    total: tasks.length,
    open: open.length,
    completed: tasks.length - open.length,
    overdue: open.filter(({ scheduled_dates: days }) => days.length > 0 && days.every((day) => day < today)).length,
    updated_at: tasks.reduce((newest, task) => (task.updated_at > newest ? task.updated_at : newest), ""),
  };
}

/** The view that has all of them: a service elsewhere shows one view at a time. */
function viewOf({ area_id, scheduled, from, to }: TaskSearch): TaskView {
  if (typeof area_id === "string") return { area_id };
  if (from !== undefined && from === to) return { day: from };
  return scheduled === false ? { staging: true } : {};
}

function fits({ title, completed, area_id, scheduled_dates: days }: Task, asked: TaskSearch): boolean {
  const { query: words = "", scheduled, from = "", to = "9999" } = asked;
  const isBounded = asked.from !== undefined || asked.to !== undefined;
  return (
    title.toLowerCase().includes(words.trim().toLowerCase()) &&
    (asked.completed === undefined || completed === asked.completed) &&
    (asked.area_id === undefined || area_id === asked.area_id) &&
    (scheduled === undefined || scheduled === days.length > 0) &&
    (!isBounded || days.some((day) => from <= day && day <= to))
  );
}
