import type {
  Page,
  Approval,
  Grant,
  Namespace,
  Run,
  RunMark,
  RunStatus,
  Session,
  SessionStatus,
  StopAction,
} from "./records.ts";
import type { AttemptStore, ManualCallStores, LedgerReader, OperationReader, RunWriter } from "./attempt-store.ts";
import type { Durations } from "../metrics/families.ts";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { RunEvent } from "../run-events.ts";
import type {
  WebhookStore,
  CronStore,
  CronOccurrence,
  AssistantStore,
  ModelRequestStore,
  TaskStore,
  SessionTtlStore,
  NewTtl,
} from "./record-stores.ts";
import type { OverviewStore, SessionFilter } from "./overview.ts";
import type { ChangeListener } from "./changes.ts";
import type { Cluster, McpStore, PeerNotifications, PathLocks, SharedFiles } from "./cluster.ts";
import type { ItemStore } from "./items/store-items.ts";
import type { TextIndexStore } from "./items/text-index.ts";
import type { UsageStore } from "./usage.ts";

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
  /**
   * Its questions wait for their answers from then on. With `ttl`, its time begins at its `updated_at`, in the same write; `null` is for ever,
   * also where sessions have a time by default.
   */
  create(session: Session, ttl?: NewTtl | null): Promise<Session>;
  get(sessionId: string): Promise<Session | undefined>;
  /**
   * Metadata and config are merged shallowly, the rest is replaced. `updated_at` is set, unless the patch `keepsTime`: what is
   * noted about a session does not change it.
   */
  update(
    sessionId: string,
    patch: Partial<Pick<Session, "metadata" | "config" | "status" | "interrupts">> & { keepsTime?: boolean },
  ): Promise<Session | undefined>;
  /** Removes the session with its runs, events, ledger rows and checkpoints, all or nothing. */
  delete(sessionId: string): Promise<boolean>;
  /** The same, unless it has a run: looked at in the transaction that removes it. */
  deleteUnused(sessionId: string): Promise<boolean>;
  /**
   * Runs `work`, which is short, while no other server runs such work on the session, admits a run of it or begins one. Throws
   * `conflict` when its turn does not come in time. Absent where no other server can do anything.
   */
  withLease?: <Result>(sessionId: string, work: () => Promise<Result>) => Promise<Result>;
  /**
   * Removes the checkpoints of sessions that are not there, and answers with how many sessions: a process that ended in the
   * midst of a copy, a fork or an import has left them. Only for a start: what this process makes at the moment looks the
   * same. What other servers make stays.
   */
  deleteUnfinished(): Promise<number>;
  /** `metadata` filters by containment. `total` counts all matches, not the page. */
  search(query: SessionQuery): Promise<{ sessions: Session[]; total: number }>;
}

/** The key that a client submits a run under, and a hash of what it sent. */
export interface Submission {
  key: string;
  hash: string;
}

/** What an admission depends on, besides the run's own strategy. */
export interface Admission {
  /** How many runs of all sessions may be pending; default any number. */
  queueLimit?: number;
  /** How many of them may be of the sessions of one owner; default any number. */
  ownerQueueLimit?: number;
  submission?: Submission | undefined;
  /** The pending question that the run answers; it is no longer pending from then on. */
  answer?: ApprovalAnswer | undefined;
  /** The cron whose turn the run is; it moves on with the admission. */
  cron?: CronOccurrence | undefined;
  /** Whether the caller has room to begin the run at once. */
  hasRoom?: boolean;
}

/** What came of an admission. */
export interface Admitted {
  /** The run as it was admitted, or that of a submission which came before. */
  run: Run;
  /** The run as its first attempt begins with it, where that is the caller's to perform. */
  claimed?: Run | undefined;
}

/** Who answers which question with the run's `command.resume`, and what is to be remembered with it. */
export interface ApprovalAnswer {
  interrupt_id: string;
  decided_by: "person" | "timeout";
  grant?: Pick<Grant, "grant_id" | "tool" | "path_pattern"> | undefined;
}

/** Which runs without a live server are taken. */
export interface AcquireOptions {
  /** Runs of at most so many sessions. */
  sessions?: number | undefined;
  /** Also what is in the hand of this server already, which it may not know. */
  again?: boolean;
  /** Also what a live server of the code version it began with can execute. */
  anyVersion?: boolean;
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
   * Throws `invalid_state` for a cron that is not due at its date any more. With `hasRoom` a run that is due, in a session
   * without another one, is claimed in the same step: it is `running` then, in its first attempt.
   */
  admit(run: Run, admission?: Admission): Promise<Admitted>;
  /** The run of a session that came under this key; throws `conflict` where the hash is another. */
  submitted(sessionId: string, submission: Submission): Promise<Run | undefined>;
  /** Whether a run came under a key. */
  hasKey(runId: string): Promise<boolean>;
  get(runId: string): Promise<Run | undefined>;
  list(sessionId: string, query: Page & { status?: RunStatus }): Promise<Run[]>;
  /** How the newest runs of a session stand, newest first; `undefined` for an unknown session. */
  marks(sessionId: string): Promise<RunMark[] | undefined>;
  /**
   * The oldest pending run of a session that has no running one; it becomes `running` with `attempt` + 1. Never one
   * that was asked to stop.
   */
  claim(sessionId: string): Promise<Run | undefined>;
  /** A run left `running` gets its next attempt: `attempt` + 1, and `crashes` + 1 when it was not released. */
  reclaim(runId: string): Promise<Run | undefined>;
  /**
   * Writes down what is asked of a run that is not over, on disk when it resolves; false where there is none. A `rollback` stays
   * one. `only`: of a run that is pending and was not asked to stop yet, so that of several calls one gets true.
   */
  requestStop(runId: string, action: StopAction, reason?: string, only?: "pending"): Promise<boolean>;
  delete(runId: string): Promise<boolean>;
  /** Removes the runs of an assistant that are over, with their events. */
  deleteOfAssistant(assistantId: string): Promise<void>;
  /** Everything pending or running, oldest first. */
  unfinished(): Promise<Run[]>;
  /**
   * Takes in hand what is pending or running and in that of no server that works, of at most so many sessions; oldest first.
   * Where only one server can work, that is all there is; else without the runs of graphs that this server does not serve, and
   * without those that a live server of the code version they began with can execute.
   */
  acquire(options?: AcquireOptions): Promise<Run[]>;
  /** The ids of what is pending or running and in the hand of this server. */
  held(): Promise<string[]>;
  /** The server stops: any other one may take its pending runs, and none leaves it runs because of its code version. */
  releasePending(): Promise<void>;
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

/** The events of one run, in order. Ids are the run's own sequence and are never used twice. */
export interface EventStore {
  /** Events with `id > after`, oldest first. */
  read(runId: string, after: number, limit: number): Promise<RunEvent[]>;
  /** The newest stored id, -1 when the log is empty. */
  last(runId: string): Promise<number>;
  /**
   * Batches of events with an id above `after` as they are stored, whichever server executes the run, until it is
   * over or gone, or the signal is aborted. Throws `not_found` for an unknown run.
   */
  follow(runId: string, after: number, signal: AbortSignal): AsyncGenerator<RunEvent[], void>;
  /**
   * Removes a small part of the oldest log whose run was over before `before` (ISO date), and notes in the run how far
   * its events are gone. False when there was none left.
   */
  expire(before: string): Promise<boolean>;
}

/**
 * Questions to people and remembered permissions. Rows follow the session: a write of a session's `interrupts` makes
 * those `pending` and what waits no longer `stale`, and an admitted run that answers makes them `answered`, in one
 * transaction. An answer whose run ended without using it leaves the question pending again.
 */
export interface ApprovalStore {
  get(sessionId: string, interruptId: string): Promise<Approval | undefined>;
  /** What waits for an answer, oldest first. */
  pending(sessionId: string): Promise<Approval[]>;
  /** Of all sessions, what has waited since before `before` (ISO date), oldest first. */
  askedBefore(before: string, page: Page): Promise<Approval[]>;
  /** The session's remembered permissions, oldest first. */
  grants(sessionId: string): Promise<Grant[]>;
  revoke(sessionId: string, grantId: string): Promise<boolean>;
}

/** Which session is the current one of a namespace, by owner; an empty name means no owner. */
export interface NamespaceStore {
  /** `undefined` when nothing is current: nothing was yet, or it was deleted. */
  get(owner: string, namespace: string): Promise<Namespace | undefined>;
  /** Those of an owner that have a current session, by name. */
  list(owner: string): Promise<Namespace[]>;
  /**
   * False for an unknown session; then nothing is changed. With `former`, also false when another session than that one is
   * the current one; `null`: when any is.
   */
  set(owner: string, namespace: string, sessionId: string, former?: string | null): Promise<boolean>;
}

/**
 * Everything that outlives the process. Only `server.ts` chooses an implementation; each passes
 * `tests/contract/storage.ts`. Failures are `AppError`s with a `storage_*` code.
 */
export interface Storage {
  /** Everything that the attempt writes; costs nothing but memory. */
  attempt(of: RunWriter): AttemptStore;
  manualCalls: ManualCallStores;
  cluster: Cluster;
  /** What servers on the same database tell each other. */
  notifications: PeerNotifications;
  sessions: SessionStore;
  runs: RunStore;
  events: EventStore;
  ledger: LedgerReader;
  tasks: TaskStore;
  approvals: ApprovalStore;
  operations: OperationReader;
  namespaces: NamespaceStore;
  requests: Omit<ModelRequestStore, "record">;
  items: ItemStore;
  textIndex: TextIndexStore;
  crons: CronStore;
  ttls: SessionTtlStore;
  assistants: AssistantStore;
  webhooks: WebhookStore;
  checkpointer: BaseCheckpointSaver;
  /**
   * Runs `work`, which writes the states of a session that is created after it, so that no other server writes any there:
   * memory keeps what it has written. Absent where there can be no other server.
   */
  whileCreating?: (<Result>(sessionId: string, work: () => Promise<Result>) => Promise<Result>) | undefined;
  overview: OverviewStore;
  usage: UsageStore;
  /** Absent where there can be no other server, as the next two. */
  files?: SharedFiles;
  pathLocks?: PathLocks;
  mcp?: McpStore;
  /**
   * Calls the listener with every change of sessions, runs, approvals and operations from now on, also by other
   * servers, of which some can be lost: then it calls `onMissed`. There is one listener. Resolves when the others have
   * answered that they send theirs, or after a second.
   */
  watch(listener: ChangeListener, onMissed: () => void): Promise<void>;
  /**
   * Rebuilds the indexes that deleted rows have left mostly empty, beside all other work, and answers with what was rebuilt.
   * Absent where the storage has none. An abort ends the waiting.
   */
  rebuildIndexes?: (signal: AbortSignal) => Promise<readonly RebuiltIndex[]>;
  close(): Promise<void>;
}

/** An index that was rebuilt, with its bytes before and after. */
export interface RebuiltIndex {
  name: string;
  bytes: number;
  rebuilt: number;
}

/** A storage as a server opens it, with what its health and its metrics ask. */
export interface OpenedStorage extends Storage {
  /** Resolves when the database has taken a write, and throws what it refuses it with. */
  probe(): Promise<void>;
  /** How long the commits took that waited for the disk. */
  commitTimes: Durations;
  /** How many bytes the database takes, by its parts; none where it does not answer. */
  sizes(): Promise<Record<string, number>>;
}
