import { z } from "zod";
import { AppError, type ErrorCode, errorMessage, isAppError, systemCode } from "@millrace/engine/errors/errors";
import type { PlannerSettings } from "@millrace/engine/config/tool-settings";
import type { Task } from "@millrace/engine/storage/records";
import type { TaskStore, TaskView } from "@millrace/engine/storage/record-stores";
import { scheduleData } from "./task-form.ts";
import { viewText } from "./view-context.ts";

/** Time limit for the complete response. */
const responseTimeoutMs = 10_000;
/** Maximum characters of a response; more than any list of tasks. */
const maxAnswerLength = 5_000_000;

/** A task in such services' format: the id under either name, one day or a list. */
const ServedTask = z
  .looseObject({
    id: z.coerce.string().optional(),
    task_id: z.coerce.string().optional(),
    title: z.string(),
    completed: z.boolean().nullish(),
    area_id: z.string().nullish(),
    scheduled_dates: z.array(z.string()).nullish(),
    scheduled_date: z.string().nullish(),
    created_at: z.string().nullish(),
    updated_at: z.string().nullish(),
  })
  .transform((task, context): Task => {
    const task_id = task.id ?? task.task_id;
    if (task_id === undefined) context.addIssue({ code: "custom", message: "a task without an id" });
    const one = task.scheduled_date === null || task.scheduled_date === undefined ? [] : [task.scheduled_date];
    return {
      task_id: task_id ?? "",
      owner: null,
      session_id: null,
      title: task.title,
      completed: task.completed ?? false,
      area_id: task.area_id ?? null,
      scheduled_dates: task.scheduled_dates ?? one,
      created_at: task.created_at ?? "",
      updated_at: task.updated_at ?? "",
    };
  });
const ServedTasks = z
  .union([z.array(ServedTask), z.looseObject({ tasks: z.array(ServedTask) })])
  .transform((data) => (Array.isArray(data) ? data : data.tasks));
/** Responses are wrapped in `data`. */
const Wrapped = z.looseObject({ data: z.unknown() });

interface ServiceRequest {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  path: string;
  body?: object;
  headers?: Record<string, string>;
  signal: AbortSignal | undefined;
}

/**
 * Tasks of another service's REST API. A missing task is `undefined`; throws `network`, `timeout`, `auth`,
 * `permission`, `rate_limit`, and `api_error` with status and text of other refusals.
 */
function createTaskService(settings: PlannerSettings): TaskStore {
  const ask = (request: ServiceRequest): Promise<unknown> => askService(settings, request);
  const one = async (request: ServiceRequest): Promise<Task | undefined> => {
    const data = await ask(request);
    return data === undefined ? undefined : read(ServedTask, data);
  };
  const at = (taskId: string): string => `/api/tasks/${pathPart(taskId)}`;
  const get = (taskId: string, signal?: AbortSignal) => one({ method: "GET", path: at(taskId), signal });
  const service: TaskStore = {
    keepsIds: false,
    // The service knows the owner by the key.
    ownedBy: () => service,
    ofSession: () => service,
    async create({ task_id, title, area_id, scheduled_dates: [scheduled_date] }, signal) {
      const body = {
        title,
        ...(area_id === null ? {} : { area_id }),
        ...(scheduled_date === undefined ? {} : { scheduled_date }),
      };
      const headers = { "idempotency-key": task_id };
      const task = await one({ method: "POST", path: "/api/tasks", body, headers, signal });
      if (task === undefined)
        throw new AppError("api_error", "The planner's service does not create tasks (status 404).");
      return task;
    },
    get,
    update: (taskId, patch, signal) => one({ method: "PATCH", path: at(taskId), body: patch, signal }),
    async schedule(taskId, scheduled_date, signal) {
      const data = await ask({ method: "POST", path: `${at(taskId)}/schedules`, body: { scheduled_date }, signal });
      if (data === undefined) return undefined;
      return (await get(taskId, signal)) ?? unnamed(taskId, scheduled_date);
    },
    unschedule(taskId, day, signal) {
      const { schedule_id } = scheduleData(taskId, day);
      return one({ method: "DELETE", path: `${at(taskId)}/schedules/${schedule_id}`, signal });
    },
    async delete(taskId, signal) {
      return (await ask({ method: "DELETE", path: at(taskId), signal })) !== undefined;
    },
    async find(view, signal) {
      const data = await ask({ method: "GET", path: `/api/views/${viewPath(view)}/tasks`, signal });
      return data === undefined ? [] : read(ServedTasks, data);
    },
  };
  return service;
}

/**
 * An id as one path segment. Throws `invalid_parameter` for one that would lead to another path, here or at the
 * service: `.` and `..` survive encoding.
 */
function pathPart(id: string): string {
  const isStep = id.split(/[/\\]/u).some((part) => /^\s*\.{1,2}\s*$/u.test(part));
  if (!isStep && id.isWellFormed()) return encodeURIComponent(id);
  throw new AppError("invalid_parameter", `${JSON.stringify(id)} is not the id of a task of the planner's service.`, {
    suggestion: "Give an id that a list of tasks shows.",
  });
}

function viewPath(view: TaskView): string {
  const text = viewText(view);
  if (text === undefined) throw new AppError("invalid_parameter", "The planner's service shows one view at a time.");
  return pathPart(text);
}

/** A task of a service that cannot return single tasks: only its existence is known. */
function unnamed(task_id: string, day: string): Task {
  const dates = { created_at: "", updated_at: "" };
  return {
    task_id,
    owner: null,
    session_id: null,
    title: task_id,
    completed: false,
    area_id: null,
    scheduled_dates: [day],
    ...dates,
  };
}

/** The tasks for tools and routes: the configured external service's, else the server's own. */
export function plannerTasks(settings: PlannerSettings | undefined, own: TaskStore): TaskStore {
  return settings === undefined ? own : createTaskService(settings);
}

/** The response's `data`; `undefined` if not found. */
async function askService({ baseUrl, apiKey }: PlannerSettings, request: ServiceRequest): Promise<unknown> {
  const { method, path, body, headers } = request;
  const timeout = AbortSignal.timeout(responseTimeoutMs);
  try {
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      headers: {
        accept: "application/json",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      // A redirect would choose who receives the key.
      redirect: "error",
      signal: request.signal === undefined ? timeout : AbortSignal.any([request.signal, timeout]),
    });
    const text = await textOf(response);
    // A service without an endpoint for single tasks answers 405.
    if (response.status === 404 || (response.status === 405 && method === "GET")) return undefined;
    if (!response.ok) throw refusal(response.status, withoutKey(text, apiKey));
    return unwrap(text);
  } catch (error) {
    request.signal?.throwIfAborted();
    if (isAppError(error)) throw error;
    if (timeout.aborted)
      throw new AppError("timeout", "The planner's service gave no answer within 10 seconds.", { cause: error });
    throw new AppError("network", `The planner's service cannot be reached: ${reasonOf(error)}`, {
      suggestion: "Check that it runs, and its address in MILLRACE_PLANNER_URL.",
      cause: error,
    });
  }
}

async function textOf(response: Response): Promise<string> {
  if (response.body === null) return "";
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of response.body) {
    text += decoder.decode(piece, { stream: true });
    if (text.length > maxAnswerLength)
      throw new AppError("too_large", "The planner's service gave a longer answer than can be read.");
  }
  return text + decoder.decode();
}

/** `null` for an empty response, such as for a deletion. */
function unwrap(text: string): unknown {
  if (text.trim() === "") return null;
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch (error) {
    throw new AppError("invalid_format", "The planner's service gave an answer that is not JSON.", { cause: error });
  }
  return read(Wrapped, answer).data ?? null;
}

function read<Schema extends z.ZodType>(schema: Schema, data: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(data);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const where = issue?.path.join(".") ?? "";
  throw new AppError(
    "invalid_format",
    `The planner's service gave an unexpected answer: ${where} ${issue?.message ?? ""}`.trim(),
  );
}

const kinds: Readonly<Record<number, ErrorCode>> = {
  401: "auth",
  403: "permission",
  409: "conflict",
  413: "too_large",
  429: "rate_limit",
  504: "timeout",
};

/** A service may repeat a rejected key. */
function withoutKey(text: string, key: string | undefined): string {
  return key === undefined ? text : text.replaceAll(key, "[redacted]");
}

function refusal(status: number, text: string): AppError {
  const detail = text.trim().slice(0, 300);
  const message = `The planner's service refused the request (status ${status})${detail === "" ? "." : `: ${detail}`}`;
  return new AppError(kinds[status] ?? "api_error", message, { recoverable: status >= 500 || status === 429 });
}

/** The message is only "fetch failed"; the cause has the reason. */
function reasonOf(error: unknown): string {
  const { cause } = error instanceof Error ? error : {};
  return systemCode(cause) || errorMessage(error);
}
