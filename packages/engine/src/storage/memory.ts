import { AppError, assertNever } from "../errors/errors.ts";
import type { Task, ToolCallRecord } from "./records.ts";
import type { Ledger, LedgerAnswer } from "./attempt-store.ts";
import type { TaskStore, TaskView } from "./record-stores.ts";

/**
 * A ledger that lives as long as the process: for a graph under another server, and for tests. Same rules as the stored
 * one, and values are copied in and out, as a disk would.
 */
export function createMemoryLedger(): Ledger {
  const sessions = new Map<string, Map<string, ToolCallRecord>>();
  return {
    async start(call) {
      const calls = sessions.get(call.session_id) ?? new Map<string, ToolCallRecord>();
      sessions.set(call.session_id, calls);
      const recorded = calls.get(call.tool_call_id);
      if (recorded !== undefined) return structuredClone(answerRecorded(recorded));
      const started_at = new Date().toISOString();
      calls.set(call.tool_call_id, { ...call, state: "started", result: null, started_at, finished_at: null });
      return { kind: "start" };
    },
    async finish(sessionId, toolCallId, result) {
      const call = sessions.get(sessionId)?.get(toolCallId);
      if (call === undefined) throw notStarted(sessionId, toolCallId);
      call.state = "finished";
      call.result = copied(result ?? null);
      call.finished_at = new Date().toISOString();
    },
    async get(sessionId, toolCallId) {
      return structuredClone(sessions.get(sessionId)?.get(toolCallId));
    },
    async begun(sessionId, toolCallIds) {
      const calls = sessions.get(sessionId);
      const known = toolCallIds.flatMap((id) => calls?.get(id) ?? []);
      return new Map(known.map(({ tool_call_id, started_at }) => [tool_call_id, started_at]));
    },
    async list(sessionId) {
      return structuredClone([...(sessions.get(sessionId)?.values() ?? [])]);
    },
  };
}

/** What a disk would give back. `structuredClone` takes ten times as long for so little. */
function copied(result: unknown): unknown {
  return JSON.parse(JSON.stringify(result));
}

/** Whether `task` belongs to a view; an empty one takes every task. */
function isInView(task: Task, view: TaskView): boolean {
  if (view.day !== undefined) return task.scheduled_dates.includes(view.day);
  if (view.staging === true) return task.scheduled_dates.length === 0;
  if (view.area_id !== undefined) return task.area_id === view.area_id;
  return true;
}

/** The planner's tasks for the life of the process; values are copied in and out. */
export function createMemoryTasks(): TaskStore {
  return tasksIn(new Map(), () => true);
}

function tasksIn(all: Map<string, Task>, isSeen: (task: Task) => boolean, owner?: string | null): TaskStore {
  const one = (taskId: string): Task | undefined => {
    const task = all.get(taskId);
    return task !== undefined && isSeen(task) ? task : undefined;
  };
  const change = async (taskId: string, patch: (task: Task) => Partial<Task>): Promise<Task | undefined> => {
    const task = one(taskId);
    if (task === undefined) return undefined;
    Object.assign(task, { updated_at: new Date().toISOString() }, structuredClone(patch(task)));
    return structuredClone(task);
  };
  return {
    keepsIds: true,
    ownedBy: (name, orphans = false) =>
      tasksIn(all, (task) => task.owner === name || (orphans && task.owner === null), name),
    ofSession: () => tasksIn(all, isSeen, owner),
    async create(task) {
      if (all.has(task.task_id)) throw new AppError("conflict", `A task "${task.task_id}" already exists.`);
      const own = owner === undefined ? task : { ...task, owner };
      all.set(task.task_id, structuredClone(own));
      return structuredClone(own);
    },
    get: async (taskId) => structuredClone(one(taskId)),
    update: (taskId, patch) => change(taskId, () => patch),
    schedule: (taskId, day) =>
      change(taskId, ({ scheduled_dates: days }) => ({ scheduled_dates: [...new Set([...days, day])].toSorted() })),
    unschedule: (taskId, day) =>
      change(taskId, ({ scheduled_dates: days }) => ({ scheduled_dates: days.filter((other) => other !== day) })),
    delete: async (taskId) => one(taskId) !== undefined && all.delete(taskId),
    async find(view) {
      const found = [...all.values()].filter((task) => isSeen(task) && isInView(task, view));
      return structuredClone(
        found.toSorted((a, b) => Number(a.created_at > b.created_at) - Number(a.created_at < b.created_at)),
      );
    },
  };
}

/** The answer to a second start of a recorded call (law 3). Every ledger answers by this rule. */
export function answerRecorded(call: ToolCallRecord): LedgerAnswer {
  if (call.state === "finished") return { kind: "finished", result: call.result };
  switch (call.effect) {
    case "pure":
    case "idempotent":
      return { kind: "repeat" };
    case "reconcilable":
      return { kind: "reconcile", started_at: call.started_at };
    case "unsafe":
      return { kind: "unknown", started_at: call.started_at };
    default:
      return assertNever(call.effect);
  }
}

/** The error (`invalid_state`) for a result that belongs to no started call: the caller skipped `start`. */
export function notStarted(sessionId: string, toolCallId: string): AppError {
  return new AppError(
    "invalid_state",
    `Expected a started tool call "${toolCallId}" of session "${sessionId}" in the ledger, found none.`,
    { suggestion: "Record the start of a call before its result." },
  );
}
