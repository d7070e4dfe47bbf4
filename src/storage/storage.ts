import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { RunEvent } from "../events.ts";
import type {
  EffectClass,
  JsonObject,
  Run,
  RunError,
  RunStatus,
  Session,
  SessionStatus,
  Task,
  ToolCallRecord,
} from "./records.ts";

/** Which rows of a list, newest first unless said otherwise. */
export interface Page {
  limit: number;
  offset: number;
}

/** Which sessions a search wants, and in which order. */
export interface SessionQuery extends Page {
  metadata?: JsonObject;
  ids?: string[];
  status?: SessionStatus;
  sort_by?: "thread_id" | "status" | "created_at" | "updated_at";
  sort_order?: "asc" | "desc";
}

/** Conversations. A missing row is `undefined`; creating an existing id throws `conflict`. */
export interface SessionStore {
  create(session: Session): Promise<Session>;
  get(sessionId: string): Promise<Session | undefined>;
  /** Metadata and config are merged shallowly, the rest is replaced. `updated_at` is set. */
  update(
    sessionId: string,
    patch: Partial<Pick<Session, "metadata" | "config" | "status" | "interrupts">>,
  ): Promise<Session | undefined>;
  /** Removes the session with its runs, events, ledger rows and checkpoints, all or nothing. */
  delete(sessionId: string): Promise<boolean>;
  /** `metadata` filters by containment. `total` counts all matches, not the page. */
  search(query: SessionQuery): Promise<{ sessions: Session[]; total: number }>;
}

/** How a run ended, and how that leaves its session. Written together, in one transaction. */
export interface RunOutcome {
  status: Exclude<RunStatus, "pending" | "running">;
  error?: RunError;
  session_status: SessionStatus;
  interrupts: Session["interrupts"];
}

/** Runs. Admission and outcome are on disk (fsync) before the promise resolves. */
export interface RunStore {
  /**
   * Writes the run as `pending` and its session as `busy`, together. With `reject`, throws `conflict` when the session
   * already has a pending or running run.
   */
  admit(run: Run): Promise<Run>;
  get(runId: string): Promise<Run | undefined>;
  list(sessionId: string, query: Page & { status?: RunStatus }): Promise<Run[]>;
  /** The oldest pending run of a session that has no running one; it becomes `running` with `attempt` + 1. */
  claim(sessionId: string): Promise<Run | undefined>;
  /** A run left `running` by a crash gets its next attempt: `attempt` + 1. */
  reclaim(runId: string): Promise<Run | undefined>;
  /** Only a pending or running run can end; `undefined` when it already has. */
  finish(runId: string, outcome: RunOutcome): Promise<Run | undefined>;
  delete(runId: string): Promise<boolean>;
  /** Everything pending or running, oldest first: what a start has to take up again. */
  unfinished(): Promise<Run[]>;
}

/** What one run told the world, in order. Ids are the run's own sequence and are never used twice. */
export interface EventStore {
  /** Reserves ids below `mark` for this run, so that a crash cannot reuse one it has already sent. */
  reserve(runId: string, mark: number): Promise<void>;
  /** Appends in order. Values inside are stored by value; messages of the session are stored once. */
  append(sessionId: string, runId: string, events: RunEvent[]): Promise<void>;
  /** Events with `id > after`, oldest first. */
  read(runId: string, after: number, limit: number): Promise<RunEvent[]>;
}

/** What came of asking the ledger for leave to start a call (law 3). */
export type LedgerAnswer =
  | { kind: "start" }
  | { kind: "repeat" }
  | { kind: "finished"; result: unknown }
  | { kind: "unknown"; started_at: string };

/** The record of tool effects: what was begun and what came of it. */
export interface Ledger {
  /**
   * Records the start before the effect (on disk for `unsafe` and `idempotent`). `finished` when the call has a stored
   * result, `repeat` when it was begun before and may be repeated, `unknown` when it may not.
   */
  start(call: {
    session_id: string;
    tool_call_id: string;
    run_id: string;
    tool: string;
    effect: EffectClass;
  }): Promise<LedgerAnswer>;
  /** Records the result after the effect. */
  finish(sessionId: string, toolCallId: string, result: unknown): Promise<void>;
  list(sessionId: string): Promise<ToolCallRecord[]>;
}

/** The planner's tasks. */
export interface TaskStore {
  create(task: Task): Promise<Task>;
  get(taskId: string): Promise<Task | undefined>;
  update(taskId: string, patch: Partial<Omit<Task, "task_id" | "created_at">>): Promise<Task | undefined>;
  delete(taskId: string): Promise<boolean>;
  /** Filters by one of: a day, no date at all (`staging`), an area. Oldest first. */
  find(filter: { day?: string; staging?: boolean; area_id?: string }): Promise<Task[]>;
}

/**
 * Everything that outlives the process. Only `server.ts` chooses an implementation; each passes
 * `tests/contract/storage.ts`. Failures are `AppError`s with a `storage_*` code.
 */
export interface Storage {
  sessions: SessionStore;
  runs: RunStore;
  events: EventStore;
  ledger: Ledger;
  tasks: TaskStore;
  checkpointer: BaseCheckpointSaver;
  close(): Promise<void>;
}
