import { v7 as newId } from "@langchain/core/utils/uuid";
import { Hono } from "hono";
import { z } from "zod";
import { AppError, isAppError } from "@millrace/engine/errors/errors";
import type { Task } from "@millrace/engine/storage/records";
import { stableId } from "../tasks/stable-id.ts";
import { refused, tag, tasksFor, wrapped } from "./tasks-of-caller.ts";
import {
  AreaId,
  Day,
  newTask,
  noTask,
  ScheduleData,
  scheduleData,
  TaskData,
  taskData,
  Title,
} from "../tasks/task-form.ts";
import { countTasks, TaskStatistics } from "../tools/task-statistics.ts";
import { ViewContext, viewOf } from "../tasks/view-context.ts";
import { describe } from "@millrace/engine/http/describe";
import { servicesOf, type HttpApp, type HttpContext, type HttpEnvironment } from "@millrace/engine/http/environment";
import { respondJson } from "@millrace/engine/http/responses/wire";
import { jsonBody, path, query, submissionOf } from "@millrace/engine/http/validate";

const TaskPath = z.object({ task_id: z.string().trim().min(1).max(200) });
const SchedulePath = TaskPath.extend({ schedule_id: z.string().trim().min(1).max(200) });
const ViewPath = z.object({ context: ViewContext });
const NewTask = z
  .object({ title: Title, area_id: AreaId.nullish(), scheduled_date: Day.nullish() })
  .meta({ ref: "TaskCreate" });
const TaskChange = z
  .object({ title: Title.optional(), completed: z.boolean().optional(), area_id: AreaId.nullable().optional() })
  .refine((change) => Object.values(change).some((value) => value !== undefined), {
    error: "expected at least one of title, completed and area_id",
  })
  .meta({ ref: "TaskChange" });
const NewSchedule = z.object({ scheduled_date: Day }).meta({ ref: "TaskScheduleCreate" });

const notThere = { ...refused, 404: "No such task" };

/** `/api/tasks` and `/api/views`: the caller's planner tasks. */
export function taskRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  readingRoutes(routes);
  changingRoutes(routes);
  schedulingRoutes(routes);
  return routes;
}

function readingRoutes(routes: HttpApp): void {
  routes.get(
    "/api/views/:context/tasks",
    describe({
      tag,
      summary: "The tasks of a view, oldest first: daily::YYYY-MM-DD, staging (no date) or area::<uuid>",
      answer: wrapped(z.array(TaskData)),
      errors: refused,
    }),
    path(ViewPath),
    async (context) => {
      const tasks = tasksFor(context, "read_tasks");
      const found = await tasks.find(viewOf(context.req.valid("param").context), context.req.raw.signal);
      return respondJson(context, { data: found.map(taskData) });
    },
  );

  routes.get(
    "/api/tasks/statistics",
    describe({
      tag,
      summary: "How many tasks there are, and how they stand",
      answer: wrapped(TaskStatistics),
      errors: refused,
    }),
    query(z.object({ today: Day.optional() })),
    async (context) => {
      const tasks = tasksFor(context, "task_statistics");
      const { today = new Date().toISOString().slice(0, 10) } = context.req.valid("query");
      return context.json({ data: countTasks(await tasks.find({}, context.req.raw.signal), today) });
    },
  );

  routes.get(
    "/api/tasks/:task_id",
    describe({ tag, summary: "Get a task", answer: wrapped(TaskData), errors: notThere }),
    path(TaskPath),
    async (context) => {
      const tasks = tasksFor(context, "read_tasks");
      const { task_id } = context.req.valid("param");
      return answerTask(context, task_id, await tasks.get(task_id, context.req.raw.signal));
    },
  );
}

function changingRoutes(routes: HttpApp): void {
  routes.post(
    "/api/tasks",
    describe({
      tag,
      summary: "Create a task",
      answer: wrapped(TaskData),
      headers: ["Idempotency-Key"],
      errors: refused,
    }),
    jsonBody(NewTask),
    async (context) => {
      const tasks = tasksFor(context, "create_task");
      const { owner } = servicesOf(context);
      const body = context.req.valid("json");
      const submission = submissionOf(context, body);
      const id = submission === undefined ? newId() : stableId("task", owner, submission.key, submission.hash);
      const task = await tasks.create(newTask(id, null, body), context.req.raw.signal).catch(async (error: unknown) => {
        const known = submission !== undefined && isAppError(error) && error.code === "conflict";
        const former = known ? await tasks.get(id) : undefined;
        if (former === undefined) throw error;
        return former;
      });
      return answerTask(context, id, task);
    },
  );

  routes.patch(
    "/api/tasks/:task_id",
    describe({
      tag,
      summary: "Change a task; what is not sent stays as it is",
      answer: wrapped(TaskData),
      errors: notThere,
    }),
    path(TaskPath),
    jsonBody(TaskChange),
    async (context) => {
      const tasks = tasksFor(context, "update_task");
      const { task_id } = context.req.valid("param");
      const { title, completed, area_id } = context.req.valid("json");
      const change = {
        ...(title === undefined ? {} : { title }),
        ...(completed === undefined ? {} : { completed }),
        ...(area_id === undefined ? {} : { area_id }),
      };
      return answerTask(context, task_id, await tasks.update(task_id, change, context.req.raw.signal));
    },
  );

  routes.delete(
    "/api/tasks/:task_id",
    describe({ tag, summary: "Delete a task with its dates", answer: wrapped(z.null()), errors: notThere }),
    path(TaskPath),
    async (context) => {
      const tasks = tasksFor(context, "delete_task");
      const { task_id } = context.req.valid("param");
      if (!(await tasks.delete(task_id, context.req.raw.signal))) throw noTask(task_id);
      return context.json({ data: null });
    },
  );
}

function schedulingRoutes(routes: HttpApp): void {
  routes.post(
    "/api/tasks/:task_id/schedules",
    describe({
      tag,
      summary: "Plan a task for a day; one that it has already changes nothing",
      answer: wrapped(ScheduleData),
      errors: notThere,
    }),
    path(TaskPath),
    jsonBody(NewSchedule),
    async (context) => {
      const tasks = tasksFor(context, "create_schedule");
      const { task_id } = context.req.valid("param");
      const { scheduled_date } = context.req.valid("json");
      const task = await tasks.schedule(task_id, scheduled_date, context.req.raw.signal);
      if (task === undefined) throw noTask(task_id);
      return context.json({ data: scheduleData(task_id, scheduled_date) });
    },
  );

  routes.delete(
    "/api/tasks/:task_id/schedules/:schedule_id",
    describe({
      tag,
      summary: "Take one day of a task back",
      answer: wrapped(TaskData),
      errors: { ...refused, 404: "No such task, or it has no such schedule" },
    }),
    path(SchedulePath),
    async (context) => {
      const tasks = tasksFor(context, "create_schedule");
      const { task_id, schedule_id } = context.req.valid("param");
      const task = await tasks.get(task_id, context.req.raw.signal);
      if (task === undefined) throw noTask(task_id);
      const day = task.scheduled_dates.find((one) => scheduleData(task_id, one).schedule_id === schedule_id);
      if (day === undefined) throw new AppError("not_found", `The task has no schedule with the id "${schedule_id}".`);
      return answerTask(context, task_id, await tasks.unschedule(task_id, day, context.req.raw.signal));
    },
  );
}

/** The task, or 404. */
function answerTask(context: HttpContext, taskId: string, task: Task | undefined): Response {
  if (task === undefined) throw noTask(taskId);
  return context.json({ data: taskData(task) });
}
