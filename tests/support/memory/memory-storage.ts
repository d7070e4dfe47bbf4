import type { RunnableConfig } from "@langchain/core/runnables";
import { MemorySaver } from "@langchain/langgraph";
import { AppError } from "@millrace/engine/errors/errors";
import type { RunEvent } from "@millrace/engine/run-events";
import { createMemoryLedger, createMemoryTasks } from "@millrace/engine/storage/memory";
import type { Run, Session, StopAction } from "@millrace/engine/storage/records";
import type { EventGroup, Storage } from "@millrace/engine/storage/storage";
import { createMemoryApprovals } from "./memory-approvals.ts";
import { createMemoryCrons } from "./memory-crons.ts";
import { createMemoryItems } from "./memory-items.ts";
import { createMemoryAssistants } from "./memory-assistants.ts";
import { createMemoryNamespaces } from "./memory-namespaces.ts";
import { createMemoryOperations } from "./memory-operations.ts";
import { createMemoryRequests } from "./memory-requests.ts";
import { createMemoryTextIndex } from "../memory-text-index.ts";
import { createMemoryWebhooks } from "./memory-webhooks.ts";
import { createMemoryTtls } from "./memory-ttls.ts";

type Operation = "append" | "finish" | "reserve" | "claim" | "requestStop";

/** A storage in memory for tests of what lies above it. `failures` makes the named operations throw. */
export interface MemoryStorage extends Storage {
  checkpointer: MemorySaver;
  rows: { sessions: Map<string, Session>; runs: Map<string, Run>; events: Map<string, RunEvent[]> };
  failures: Set<Operation>;
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
  const check = (operation: Operation): void => {
    if (failures.has(operation)) throw new AppError("storage_full", `The disk is full (${operation}).`);
  };
  const webhooks = createMemoryWebhooks();
  const submissions = new Map<string, { run_id: string; hash: string }>();
  const parked = new Set<string>();
  const fence = (id: string, attempt: number | undefined): void => {
    const current = runs.get(id)?.attempt;
    if (attempt !== undefined && current !== undefined && attempt !== current) {
      throw new AppError("conflict", `Attempt ${attempt} is over.`);
    }
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
  const approvals = createMemoryApprovals((runId) => {
    const run = runs.get(runId);
    return run !== undefined && unfinished(run);
  });
  const append = async ({ run_id, attempt, events: batch }: EventGroup): Promise<void> => {
    if (batch.length === 0) return;
    check("append");
    fence(run_id, attempt);
    const log = events.get(run_id) ?? [];
    const last = log.at(-1)?.id ?? -1;
    if ((batch[0]?.id ?? 0) <= last) throw new Error(`event id ${batch[0]?.id} used twice`);
    events.set(run_id, [...log, ...batch]);
  };
  const askToStop = (run: Run, action: StopAction, reason = run.cancel_reason): void => {
    if (unfinished(run)) {
      const stop_requested = run.stop_requested === "rollback" ? "rollback" : action;
      runs.set(run.run_id, { ...run, stop_requested, cancel_reason: run.cancel_reason ?? reason });
    }
  };
  return {
    rows: { sessions, runs, events },
    failures,
    checkpointer: saver,
    watch: () => undefined,
    overview: {
      approvals: async () => ({ rows: [], next: null }),
      waiting: async () => 0,
      working: async () => 0,
      runs: async () => ({ rows: [], next: null }),
      histogram: async () => [],
    },
    checkpointerWith: (unstored) => {
      const begun = new Set<Promise<unknown>>();
      let isClosed = false;
      const close = async (): Promise<void> => {
        isClosed = true;
        await Promise.allSettled(begun);
      };
      const proxy = new Proxy(saver, {
        get(target, key) {
          if (key === "close") return close;
          const value: unknown = Reflect.get(target, key);
          if (typeof value !== "function") return value;
          if (key !== "put" && key !== "putWrites") return value.bind(target);
          return async (...args: unknown[]): Promise<unknown> => {
            if (isClosed) return { configurable: { checkpoint_id: "dropped" } };
            const written = unstored.carry(append).then(() => value.apply(target, args) as Promise<unknown>);
            begun.add(written);
            return await written.finally(() => begun.delete(written));
          };
        },
      });
      // The proxy has `close` as well.
      return proxy as typeof proxy & { close(): Promise<void> };
    },
    ledger: createMemoryLedger(),
    tasks: createMemoryTasks(),
    approvals: approvals.store,
    operations: createMemoryOperations(),
    namespaces: createMemoryNamespaces((id) => sessions.has(id)),
    assistants: createMemoryAssistants(),
    webhooks,
    requests: createMemoryRequests((id) => sessions.has(id)),
    items: createMemoryItems(),
    textIndex: createMemoryTextIndex(),
    crons: createMemoryCrons(),
    ttls: createMemoryTtls((id) => sessions.has(id)),
    close: async () => undefined,
    sessions: {
      create: async (session) => {
        sessions.set(session.session_id, session);
        approvals.followSession(session.session_id, session.interrupts);
        return session;
      },
      get: async (id) => sessions.get(id),
      update: async (id, patch) => {
        if (patch.interrupts !== undefined) approvals.followSession(id, patch.interrupts);
        return change(sessions, id, { ...patch, metadata: { ...sessions.get(id)?.metadata, ...patch.metadata } });
      },
      delete: async (id) => {
        for (const run of ofSession(id)) runs.delete(run.run_id);
        await saver.deleteThread(id);
        return sessions.delete(id);
      },
      deleteUnused: async (id) => {
        if (ofSession(id).length > 0) return false;
        await saver.deleteThread(id);
        return sessions.delete(id);
      },
      deleteUnfinished: async () => {
        const left = Object.keys(saver.storage).filter((id) => !sessions.has(id));
        for (const id of left) await saver.deleteThread(id);
        return left.length;
      },
      search: async () => ({ sessions: [...sessions.values()], total: sessions.size }),
    },
    runs: {
      admit: async (draft, { queueLimit = Infinity, ownerQueueLimit = Infinity, submission, answer } = {}) => {
        const known = submissions.get(`${draft.session_id} ${submission?.key}`);
        if (known !== undefined) {
          const before = runs.get(known.run_id);
          if (known.hash !== submission?.hash) throw new AppError("conflict", "Another request came under this key.");
          if (before !== undefined) return before;
        }
        if (draft.multitask_strategy === "reject" && ofSession(draft.session_id).some(unfinished)) {
          throw new AppError("conflict", "Thread is already running a task.");
        }
        const waiting = [...runs.values()].filter((other) => other.status === "pending");
        const ownerOf = (run: Run): string | null => sessions.get(run.session_id)?.owner ?? null;
        const own = waiting.filter((other) => ownerOf(other) === ownerOf(draft));
        if (waiting.length >= queueLimit || own.length >= ownerQueueLimit) {
          throw new AppError("rate_limit", "The queue is full.");
        }
        if (submission !== undefined) {
          submissions.set(`${draft.session_id} ${submission.key}`, { run_id: draft.run_id, hash: submission.hash });
        }
        const { multitask_strategy: strategy } = draft;
        if (strategy === "interrupt" || strategy === "rollback") {
          for (const other of ofSession(draft.session_id)) askToStop(other, strategy);
        }
        const run = approvals.recordAnswers(draft, ofSession(draft.session_id).some(unfinished), answer);
        runs.set(run.run_id, run);
        const { graph_id, assistant_id } = run;
        const metadata = { ...sessions.get(run.session_id)?.metadata, graph_id, assistant_id };
        change(sessions, run.session_id, { status: "busy", metadata });
        return run;
      },
      get: async (id) => runs.get(id),
      list: async (id, { status, limit, offset }) =>
        ofSession(id)
          .filter((run) => run.status === (status ?? run.status))
          .toReversed()
          .slice(offset, offset + limit),
      claim: async (id) => {
        check("claim");
        const rows = ofSession(id);
        if (rows.some((run) => run.status === "running")) return undefined;
        const next = rows.find(
          ({ status, stop_requested, created_at, updated_at }) =>
            status === "pending" && stop_requested === null && (created_at <= now() || created_at === updated_at),
        );
        return next && change(runs, next.run_id, { status: "running", attempt: next.attempt + 1 });
      },
      reclaim: async (id) => {
        const run = runs.get(id);
        if (run?.status !== "running") return undefined;
        const crashes = run.crashes + (parked.delete(id) ? 0 : 1);
        return change(runs, id, { attempt: run.attempt + 1, crashes });
      },
      requestStop: async (id, action, reason) => {
        check("requestStop");
        const run = runs.get(id);
        if (run !== undefined) askToStop(run, action, reason);
      },
      park: async () => {
        for (const run of runs.values()) if (run.status === "running") parked.add(run.run_id);
      },
      finish: async (id, outcome, attempt) => {
        check("finish");
        const run = runs.get(id);
        if (run === undefined || !unfinished(run) || run.attempt !== (attempt ?? run.attempt)) return undefined;
        const { status, error = null, session_status, interrupts } = outcome;
        if (outcome.webhook !== undefined)
          webhooks.add(id, { ...outcome.webhook, owner: sessions.get(run.session_id)?.owner ?? null });
        const { updated_at = now() } = change(runs, id, { status, error }) ?? {};
        const ended: Run = { ...run, status, error, updated_at: outcome.ended_at ?? updated_at };
        runs.set(id, ended);
        approvals.followSession(run.session_id, interrupts);
        const busy = ofSession(run.session_id).some(unfinished);
        change(sessions, run.session_id, { status: busy ? "busy" : session_status, interrupts });
        return ended;
      },
      delete: async (id) => runs.delete(id),
      deleteOfAssistant: async (id) => {
        for (const run of runs.values()) if (run.assistant_id === id && !unfinished(run)) runs.delete(run.run_id);
      },
      unfinished: async () => [...runs.values()].filter(unfinished),
      leftTemporary: async (keyedBefore) => {
        const keyed = new Set([...submissions.values()].map(({ run_id }) => run_id));
        const left = ({ run_id, updated_at }: Run): boolean => !keyed.has(run_id) || updated_at < keyedBefore;
        return [...runs.values()]
          .filter((run) => run.kwargs.temporary && !unfinished(run) && left(run))
          .map((run) => run.session_id);
      },
      leftRollbacks: async () =>
        [...runs.values()].filter((run) => run.stop_requested === "rollback" && !unfinished(run)),
      lastChange: async () =>
        [...runs.values()]
          .map(({ updated_at }) => updated_at)
          .toSorted()
          .at(-1),
    },
    events: {
      reserve: async (id, mark, attempt) => {
        check("reserve");
        fence(id, attempt);
        change(runs, id, { event_mark: Math.max(mark, runs.get(id)?.event_mark ?? 0) });
      },
      append: (session_id, run_id, batch, attempt) => append({ session_id, run_id, attempt, events: batch }),
      last: async (id) => events.get(id)?.at(-1)?.id ?? -1,
      expire: async (before) => {
        const due = [...runs.values()].find(
          (run) => !unfinished(run) && run.updated_at < before && (events.get(run.run_id) ?? []).length > 0,
        );
        if (due === undefined) return false;
        change(runs, due.run_id, { expired_events: events.get(due.run_id)?.at(-1)?.id ?? -1 });
        return events.delete(due.run_id);
      },
      read: async (id, after, limit) => (events.get(id) ?? []).filter((event) => event.id > after).slice(0, limit),
    },
  };
}
