import { AppError } from "../errors.ts";
import { answerRecorded, notStarted } from "./ledger.ts";
import type { Task, ToolCallRecord } from "./records.ts";
import type { Ledger, TaskStore } from "./storage.ts";

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
      call.result = structuredClone(result ?? null);
      call.finished_at = new Date().toISOString();
    },
    async get(sessionId, toolCallId) {
      return structuredClone(sessions.get(sessionId)?.get(toolCallId));
    },
    async list(sessionId) {
      return structuredClone([...(sessions.get(sessionId)?.values() ?? [])]);
    },
  };
}

/** Whether `task` belongs to the view that `filter` names (PLANNER-02); an empty filter takes every task. */
function isInView(task: Task, filter: Parameters<TaskStore["find"]>[0]): boolean {
  if (filter.day !== undefined) return task.scheduled_dates.includes(filter.day);
  if (filter.staging === true) return task.scheduled_dates.length === 0;
  if (filter.area_id !== undefined) return task.area_id === filter.area_id;
  return true;
}

/** The planner's tasks for the life of the process; values are copied in and out. */
export function createMemoryTasks(): TaskStore {
  const tasks = new Map<string, Task>();
  return {
    async create(task) {
      if (tasks.has(task.task_id)) throw new AppError("conflict", `A task "${task.task_id}" already exists.`);
      tasks.set(task.task_id, structuredClone(task));
      return structuredClone(task);
    },
    async get(taskId) {
      return structuredClone(tasks.get(taskId));
    },
    async update(taskId, patch) {
      const task = tasks.get(taskId);
      if (task === undefined) return undefined;
      Object.assign(task, { updated_at: new Date().toISOString() }, structuredClone(patch));
      return structuredClone(task);
    },
    async delete(taskId) {
      return tasks.delete(taskId);
    },
    async find(filter) {
      const found = [...tasks.values()].filter((task) => isInView(task, filter));
      return structuredClone(
        found.toSorted((a, b) => Number(a.created_at > b.created_at) - Number(a.created_at < b.created_at)),
      );
    },
  };
}
