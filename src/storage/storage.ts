import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { RunEvent } from "../events.ts";
import type {
  Approval,
  EffectClass,
  Grant,
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

/** What an admission depends on, besides the run's own strategy. */
export interface Admission {
  /** How many runs of all sessions may be pending; default any number. */
  queueLimit?: number;
  /** The key a client submits a run under, and a hash of what it sent (reliability E9). */
  submission?: { key: string; hash: string } | undefined;
  /** The pending question that the run answers; it is no longer pending from then on. */
  answer?: ApprovalAnswer | undefined;
}

/** Who answers which question with the run's `command.resume`, and what is to be remembered with it. */
export interface ApprovalAnswer {
  interrupt_id: string;
  decided_by: "person" | "timeout";
  grant?: Pick<Grant, "grant_id" | "tool" | "path_pattern"> | undefined;
}

/** Runs. Admission and outcome are on disk (fsync) before the promise resolves. */
export interface RunStore {
  /**
   * Writes the run as `pending` and its session as `busy` with the run's `graph_id` and `assistant_id` in its metadata, all
   * together. A submission whose key this session has seen answers the run of that time and writes nothing, or throws
   * `conflict` when the hash is another. With `reject`, throws `conflict` when the session already has a pending or
   * running run; throws `rate_limit` when the queue is full. Questions that the run's `command.resume` answers become
   * `answered`, those that its input passes over `stale`; throws `conflict` for one that is not pending any more.
   */
  admit(run: Run, admission?: Admission): Promise<Run>;
  get(runId: string): Promise<Run | undefined>;
  list(sessionId: string, query: Page & { status?: RunStatus }): Promise<Run[]>;
  /** The oldest pending run of a session that has no running one; it becomes `running` with `attempt` + 1. */
  claim(sessionId: string): Promise<Run | undefined>;
  /** A run left `running` gets its next attempt: `attempt` + 1, and `crashes` + 1 when it was not parked. */
  reclaim(runId: string): Promise<Run | undefined>;
  /** Marks every running run as let go of by a server that stops: its next reclaim counts no crash. */
  park(): Promise<void>;
  /** Only a pending or running run can end, and when `attempt` is given only that one; `undefined` when it cannot. */
  finish(runId: string, outcome: RunOutcome, attempt?: number): Promise<Run | undefined>;
  delete(runId: string): Promise<boolean>;
  /** Everything pending or running, oldest first: what a start has to take up again. */
  unfinished(): Promise<Run[]>;
  /** Sessions that were made for one run only, and whose run is over: what a stop in between has left behind. */
  leftTemporary(): Promise<string[]>;
}

/**
 * What one run told the world, in order. Ids are the run's own sequence and are never used twice. A write that names an
 * `attempt` other than the run's own throws `conflict`: somebody else has taken the run up.
 */
export interface EventStore {
  /** Reserves ids below `mark` for this run, so that a crash cannot reuse one it has already sent. */
  reserve(runId: string, mark: number, attempt?: number): Promise<void>;
  /** Appends in order. Values inside are stored by value; messages of the session are stored once. */
  append(sessionId: string, runId: string, events: RunEvent[], attempt?: number): Promise<void>;
  /** Events with `id > after`, oldest first. */
  read(runId: string, after: number, limit: number): Promise<RunEvent[]>;
  /** The newest stored id, -1 when the log is empty. */
  last(runId: string): Promise<number>;
  /**
   * Removes a small part of the oldest log whose run was over before `before` (ISO date), and notes in the run how far its
   * events are gone. False when there was none left.
   */
  expire(before: string): Promise<boolean>;
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

/**
 * Questions to people and remembered yeses. Rows follow the session: whoever writes a session's `interrupts` makes those
 * `pending` and what waits no longer `stale`, and an admitted run that answers makes them `answered`, in one transaction.
 * An answer whose run ended without using it leaves the question pending again.
 */
export interface ApprovalStore {
  get(sessionId: string, interruptId: string): Promise<Approval | undefined>;
  /** What waits for an answer, oldest first. */
  pending(sessionId: string): Promise<Approval[]>;
  /** Of all sessions, what has waited since before `before` (ISO date), oldest first. */
  askedBefore(before: string, limit: number): Promise<Approval[]>;
  /** The session's remembered yeses, oldest first. */
  grants(sessionId: string): Promise<Grant[]>;
  revoke(sessionId: string, grantId: string): Promise<boolean>;
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
  approvals: ApprovalStore;
  checkpointer: BaseCheckpointSaver;
  close(): Promise<void>;
}
