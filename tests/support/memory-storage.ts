import type { RunnableConfig } from "@langchain/core/runnables";
import { MemorySaver } from "@langchain/langgraph";
import { AppError } from "../../src/errors.ts";
import type { RunEvent } from "../../src/events.ts";
import { createMemoryLedger, createMemoryTasks } from "../../src/storage/memory.ts";
import type { Run, Session } from "../../src/storage/records.ts";
import type { Storage } from "../../src/storage/storage.ts";

/** A storage in memory for tests of what lies above it. `failures` makes the named operations throw. */
export interface MemoryStorage extends Storage {
  checkpointer: MemorySaver;
  rows: { sessions: Map<string, Session>; runs: Map<string, Run>; events: Map<string, RunEvent[]> };
  failures: Set<"append" | "finish" | "reserve" | "claim">;
}

/** LangGraph's saver in memory, which also remembers which runs have written something. */
export class RunAwareSaver extends MemorySaver {
  readonly #runs = new Set<string>();

  #note(config: RunnableConfig): void {
    this.#runs.add(`${config.configurable?.["thread_id"]}/${config.configurable?.["run_id"]}`);
  }

  override async put(...args: Parameters<MemorySaver["put"]>): ReturnType<MemorySaver["put"]> {
    this.#note(args[0]);
    return super.put(...args);
  }

  override async putWrites(...args: Parameters<MemorySaver["putWrites"]>): Promise<void> {
    this.#note(args[0]);
    return super.putWrites(...args);
  }

  hasRun(threadId: string, runId: string): boolean {
    return this.#runs.has(`${threadId}/${runId}`);
  }
}

function now(): string {
  return new Date().toISOString();
}

export function createMemoryStorage(saver = new RunAwareSaver()): MemoryStorage {
  const sessions = new Map<string, Session>();
  const runs = new Map<string, Run>();
  const events = new Map<string, RunEvent[]>();
  const failures: MemoryStorage["failures"] = new Set();
  const check = (operation: "append" | "finish" | "reserve" | "claim"): void => {
    if (failures.has(operation)) throw new AppError("storage_full", `The disk is full (${operation}).`);
  };
  const ofSession = (sessionId: string): Run[] => [...runs.values()].filter((run) => run.session_id === sessionId);
  const unfinished = (run: Run): boolean => run.status === "pending" || run.status === "running";
  const change = <Row>(rows: Map<string, Row>, id: string, patch: Partial<Row>): Row | undefined => {
    const row = rows.get(id);
    if (row === undefined) return undefined;
    const changed = { ...row, ...patch, updated_at: now() };
    rows.set(id, changed);
    return changed;
  };
  return {
    rows: { sessions, runs, events },
    failures,
    checkpointer: saver,
    ledger: createMemoryLedger(),
    tasks: createMemoryTasks(),
    close: async () => undefined,
    sessions: {
      create: async (session) => {
        sessions.set(session.session_id, session);
        return session;
      },
      get: async (id) => sessions.get(id),
      update: async (id, patch) =>
        change(sessions, id, { ...patch, metadata: { ...sessions.get(id)?.metadata, ...patch.metadata } }),
      delete: async (id) => {
        for (const run of ofSession(id)) runs.delete(run.run_id);
        await saver.deleteThread(id);
        return sessions.delete(id);
      },
      search: async () => ({ sessions: [...sessions.values()], total: sessions.size }),
    },
    runs: {
      admit: async (run) => {
        if (run.multitask_strategy === "reject" && ofSession(run.session_id).some(unfinished)) {
          throw new AppError("conflict", "Thread is already running a task.");
        }
        runs.set(run.run_id, run);
        change(sessions, run.session_id, { status: "busy" });
        return run;
      },
      get: async (id) => runs.get(id),
      list: async (id, query) => ofSession(id).filter((run) => run.status === (query.status ?? run.status)),
      claim: async (id) => {
        check("claim");
        const rows = ofSession(id);
        if (rows.some((run) => run.status === "running")) return undefined;
        const next = rows.find((run) => run.status === "pending" && run.created_at <= now());
        return next && change(runs, next.run_id, { status: "running", attempt: next.attempt + 1 });
      },
      reclaim: async (id) => {
        const run = runs.get(id);
        return run?.status === "running" ? change(runs, id, { attempt: run.attempt + 1 }) : undefined;
      },
      finish: async (id, outcome) => {
        check("finish");
        const run = runs.get(id);
        if (run === undefined || !unfinished(run)) return undefined;
        const { status, error = null, session_status, interrupts } = outcome;
        const ended = change(runs, id, { status, error });
        const busy = ofSession(run.session_id).some(unfinished);
        change(sessions, run.session_id, { status: busy ? "busy" : session_status, interrupts });
        return ended;
      },
      delete: async (id) => runs.delete(id),
      unfinished: async () => [...runs.values()].filter(unfinished),
    },
    events: {
      reserve: async (id, mark) => {
        check("reserve");
        change(runs, id, { event_mark: Math.max(mark, runs.get(id)?.event_mark ?? 0) });
      },
      append: async (_sessionId, id, batch) => {
        check("append");
        const log = events.get(id) ?? [];
        const last = log.at(-1)?.id ?? -1;
        if ((batch[0]?.id ?? 0) <= last) throw new Error(`event id ${batch[0]?.id} used twice`);
        events.set(id, [...log, ...batch]);
      },
      read: async (id, after, limit) => (events.get(id) ?? []).filter((event) => event.id > after).slice(0, limit),
    },
  };
}
