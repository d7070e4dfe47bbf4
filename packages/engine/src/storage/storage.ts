import type {
  Page,
  Approval,
  EffectClass,
  Grant,
  Namespace,
  OperationRecord,
  Run,
  RunError,
  RunStatus,
  Session,
  SessionStatus,
  StopAction,
  ToolCallRecord,
} from "./records.ts";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { RunEvent } from "../run-events.ts";
import type {
  Webhook,
  WebhookStore,
  CronStore,
  CronTurn,
  AssistantStore,
  ModelRequestStore,
  TaskStore,
  SessionTtlStore,
} from "./record-stores.ts";
import type { OverviewStore, SessionFilter } from "./overview.ts";
import type { ChangeListener } from "./changes.ts";
import type { ItemStore } from "./items/store-items.ts";
import type { TextIndexStore } from "./text-index.ts";

/** Which sessions a search wants, and in which order. */
export interface SessionQuery extends Page, SessionFilter {
  ids?: string[];
  status?: SessionStatus;
  /** `state_updated_at`: when the newest state was written; sessions without one come as the oldest. */
  sort_by?: "thread_id" | "status" | "created_at" | "updated_at" | "state_updated_at";
  sort_order?: "asc" | "desc";
}

/** Conversations. A missing row is `undefined`; creating an existing id throws `conflict`. */
export interface SessionStore {
  /** Its questions wait for their answers from then on. */
  create(session: Session): Promise<Session>;
  get(sessionId: string): Promise<Session | undefined>;
  /** Metadata and config are merged shallowly, the rest is replaced. `updated_at` is set. */
  update(
    sessionId: string,
    patch: Partial<Pick<Session, "metadata" | "config" | "status" | "interrupts">>,
  ): Promise<Session | undefined>;
  /** Removes the session with its runs, events, ledger rows and checkpoints, all or nothing. */
  delete(sessionId: string): Promise<boolean>;
  /** The same, unless it has a run: looked at in the transaction that removes it. */
  deleteUnused(sessionId: string): Promise<boolean>;
  /**
   * Removes the checkpoints of sessions that are not there, and answers with how many sessions: a process that ended in the
   * midst of a copy, a fork or an import has left them. Only for a start: what is being made at the moment looks the same.
   */
  deleteUnfinished(): Promise<number>;
  /** `metadata` filters by containment. `total` counts all matches, not the page. */
  search(query: SessionQuery): Promise<{ sessions: Session[]; total: number }>;
}

/** How a run ended, and how that leaves its session. Written together, in one transaction. */
export interface RunOutcome {
  status: Exclude<RunStatus, "pending" | "running">;
  error?: RunError;
  session_status: SessionStatus;
  interrupts: Session["interrupts"];
  /** When it ended (ISO date). Default now. */
  ended_at?: string;
  /** What is to be told of it, to whom; see `WebhookStore`. */
  webhook?: Pick<Webhook, "url" | "host" | "body"> | undefined;
}

/** What an admission depends on, besides the run's own strategy. */
export interface Admission {
  /** How many runs of all sessions may be pending; default any number. */
  queueLimit?: number;
  /** How many of them may be of the sessions of one owner; default any number. */
  ownerQueueLimit?: number;
  /** The key a client submits a run under, and a hash of what it sent. */
  submission?: { key: string; hash: string } | undefined;
  /** The pending question that the run answers; it is no longer pending from then on. */
  answer?: ApprovalAnswer | undefined;
  /** The cron whose turn the run is; it moves on with the admission. */
  cron?: CronTurn | undefined;
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
   * Writes the run as `pending` and its session as `busy` with the run's `graph_id` and `assistant_id` in its metadata,
   * all together. A submission whose key the session has seen answers the run of that time and writes nothing, or
   * throws `conflict` when the hash is another. With `reject`, throws `conflict` when the session already has a pending
   * or running run; throws `rate_limit` when the queue is full. With `interrupt` and `rollback`, what is not over in
   * the session is asked to stop, as by `requestStop`. Questions that the run's `command.resume` answers become
   * `answered`, those that its input passes over `stale`; throws `conflict` for one that is not pending any more.
   * Throws `invalid_state` for a cron that is not due at its date any more.
   */
  admit(run: Run, admission?: Admission): Promise<Run>;
  get(runId: string): Promise<Run | undefined>;
  list(sessionId: string, query: Page & { status?: RunStatus }): Promise<Run[]>;
  /**
   * The oldest pending run of a session that has no running one; it becomes `running` with `attempt` + 1. Never one
   * that was asked to stop.
   */
  claim(sessionId: string): Promise<Run | undefined>;
  /** A run left `running` gets its next attempt: `attempt` + 1, and `crashes` + 1 when it was not parked. */
  reclaim(runId: string): Promise<Run | undefined>;
  /** Marks every running run as let go of by a server that stops: its next reclaim counts no crash. */
  park(): Promise<void>;
  /** Writes down what is asked of a run that is not over. A `rollback` stays one. On disk before the promise resolves. */
  requestStop(runId: string, action: StopAction, reason?: string): Promise<void>;
  /** Only a pending or running run can end, and when `attempt` is given only that one; `undefined` when it cannot. */
  finish(runId: string, outcome: RunOutcome, attempt?: number): Promise<Run | undefined>;
  delete(runId: string): Promise<boolean>;
  /** Removes the runs of an assistant that are over, with their events. */
  deleteOfAssistant(assistantId: string): Promise<void>;
  /** Everything pending or running, oldest first: what a start has to take up again. */
  unfinished(): Promise<Run[]>;
  /**
   * Sessions that were made for one run only, and whose run is over: what a stop in between has left behind. Where a
   * client may ask again under a key, only those whose run ended before `keyedBefore` (ISO date).
   */
  leftTemporary(keyedBefore: string): Promise<string[]>;
  /** Runs that are over and were to be rolled back: what a stop in between has left of them. */
  leftRollbacks(): Promise<Run[]>;
  /** When a run was last changed (ISO date), of those whose log is kept; `undefined` without any. */
  lastChange(): Promise<string | undefined>;
}

/** Events of one run in their order, for its log; see `EventStore.append`. */
export interface EventGroup {
  session_id: string;
  run_id: string;
  attempt: number | undefined;
  events: RunEvent[];
}

/** Where a checkpointer gets the events that were told and are not stored yet. */
export interface UnstoredEvents {
  /** Calls `write` with them, one call at a time. They count as stored when it resolves, and stay when it rejects. */
  carry<Result>(write: (group: EventGroup) => Promise<Result>): Promise<Result>;
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
   * Removes a small part of the oldest log whose run was over before `before` (ISO date), and notes in the run how far
   * its events are gone. False when there was none left.
   */
  expire(before: string): Promise<boolean>;
}

/** What came of asking the ledger for leave to start a call (law 3). */
export type LedgerAnswer =
  | { kind: "start" }
  | { kind: "repeat" }
  | { kind: "reconcile"; started_at: string }
  | { kind: "finished"; result: unknown }
  | { kind: "unknown"; started_at: string };

/** The record of tool effects: what was begun and what came of it. */
export interface Ledger {
  /**
   * Records the start before the effect (on disk unless it is `pure`). `finished` when the call has a stored result,
   * `repeat` when it was begun before and may be repeated, `reconcile` when one has to look first, `unknown` when it
   * may not be repeated.
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
  get(sessionId: string, toolCallId: string): Promise<ToolCallRecord | undefined>;
  list(sessionId: string): Promise<ToolCallRecord[]>;
}

/**
 * Questions to people and remembered yeses. Rows follow the session: whoever writes a session's `interrupts` makes
 * those `pending` and what waits no longer `stale`, and an admitted run that answers makes them `answered`, in one
 * transaction. An answer whose run ended without using it leaves the question pending again.
 */
export interface ApprovalStore {
  get(sessionId: string, interruptId: string): Promise<Approval | undefined>;
  /** What waits for an answer, oldest first. */
  pending(sessionId: string): Promise<Approval[]>;
  /** Of all sessions, what has waited since before `before` (ISO date), oldest first. */
  askedBefore(before: string, page: Page): Promise<Approval[]>;
  /** The session's remembered yeses, oldest first. */
  grants(sessionId: string): Promise<Grant[]>;
  revoke(sessionId: string, grantId: string): Promise<boolean>;
}

/** Bytes of files, by the SHA-256 of the bytes in hexadecimal. */
export type FileContents = ReadonlyMap<string, Uint8Array>;

/** What tool calls changed in the workspace, and what undoes it. */
export interface OperationStore {
  /**
   * Records what a call is about to change, with the bytes of before; on disk (fsync) when the promise resolves. Gives the
   * record: the first one where the call was recorded already, as after a crash. Throws `not_found` without a session.
   */
  begin(operation: OperationRecord, contents: FileContents): Promise<OperationRecord>;
  /** Writes how it ended, and more bytes. Where nothing is to be undone (`is_kept` false) its bytes are let go. */
  settle(
    operationId: string,
    end: Pick<OperationRecord, "status" | "change" | "lines_added" | "lines_removed" | "first_line" | "is_kept">,
    contents: FileContents,
  ): Promise<void>;
  get(sessionId: string, operationId: string): Promise<OperationRecord | undefined>;
  /** The operation of a call of the ledger. */
  ofCall(sessionId: string, toolCallId: string): Promise<OperationRecord | undefined>;
  /** Newest first, with the number of all that match. */
  list(
    sessionId: string,
    query: Page & { run_id?: string | undefined; message_id?: string | undefined },
  ): Promise<{ operations: OperationRecord[]; total: number }>;
  /** Bytes that were stored with an operation. */
  content(operationId: string, hash: string): Promise<Uint8Array | undefined>;
}

/** Which session is the current one of a namespace, by owner; an owner without a name is nobody. */
export interface NamespaceStore {
  /** `undefined` when nothing is current: nothing was yet, or it was deleted. */
  get(owner: string, namespace: string): Promise<Namespace | undefined>;
  /** Those of an owner that have a current session, by name. */
  list(owner: string): Promise<Namespace[]>;
  /** False for an unknown session; then nothing is changed. */
  set(owner: string, namespace: string, sessionId: string): Promise<boolean>;
}

/**
 * The checkpointer of one attempt of a run. LangGraph lets go of its caller at an abort while steps that have not noticed
 * still run; what those would write after `close` is dropped, so that it cannot come after what the stop has written.
 */
export interface RunCheckpointer extends BaseCheckpointSaver {
  /** Drops every later write, and resolves when those that have begun are over, well or not. */
  close(): Promise<void>;
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
  operations: OperationStore;
  namespaces: NamespaceStore;
  requests: ModelRequestStore;
  items: ItemStore;
  textIndex: TextIndexStore;
  crons: CronStore;
  ttls: SessionTtlStore;
  assistants: AssistantStore;
  webhooks: WebhookStore;
  checkpointer: BaseCheckpointSaver;
  /**
   * The checkpointer of one attempt of a run: each of its `put` and `putWrites` is one transaction with the events that
   * were told before it, so that no checkpoint is on disk without them. Throws what `append` throws.
   */
  checkpointerWith(events: UnstoredEvents): RunCheckpointer;
  overview: OverviewStore;
  /** Tells the listener of every change of sessions, runs, approvals and operations from now on. There is one listener. */
  watch(listener: ChangeListener): void;
  close(): Promise<void>;
}
