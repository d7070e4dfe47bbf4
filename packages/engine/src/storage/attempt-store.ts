import { AsyncLocalStorage } from "node:async_hooks";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { AppError } from "../errors/errors.ts";
import type { RunEvent } from "../run-events.ts";
import type {
  EffectClass,
  OperationRecord,
  Page,
  Run,
  RunError,
  RunMark,
  RunStatus,
  Session,
  SessionStatus,
  ToolCallRecord,
} from "./records.ts";
import type { ModelRequestStore, Webhook } from "./record-stores.ts";
import type { UsageEntry } from "./usage.ts";

/**
 * The stop signal of the run that uses the storage. While the database is away, a request fails at once; a run waits
 * for it until it is stopped.
 */
export const withinRun = new AsyncLocalStorage<AbortSignal>();

/**
 * The writer of a run: the attempt that a claim has started. Without a number, a run that is ended while it is queued,
 * whichever attempt claims it at that moment.
 */
export interface RunWriter {
  session_id: string;
  run_id: string;
  attempt: number | undefined;
  /** The server that owns the run, where several share the storage. */
  server?: number | undefined;
}

/** The error (`conflict`) for a write of a superseded attempt: attempt `current` or another server owns the run. */
export function attemptSuperseded(
  { run_id, attempt }: Pick<RunWriter, "run_id" | "attempt">,
  current: number,
): AppError {
  const taker = current === attempt ? "another server" : `attempt ${current}`;
  return new AppError("conflict", `Attempt ${attempt} of run "${run_id}" is over: ${taker} has taken it up.`);
}

/** How a run ended, and how that leaves its session. Written together, in one transaction. */
export interface RunOutcome {
  status: Exclude<RunStatus, "pending" | "running">;
  error?: RunError;
  session_status: SessionStatus;
  interrupts: Session["interrupts"];
  /** When it ended (ISO date). Default now. */
  ended_at?: string;
  /** Its webhook; see `WebhookStore`. */
  webhook?: Pick<Webhook, "url" | "host" | "body"> | undefined;
  /** It is rolled back, and its states are gone. */
  isRemoved?: boolean;
  /** Of a run that has not begun: how the others stood (`begunRuns`) when the state was read of which `session_status` says. */
  readAt?: string | undefined;
}

/** The runs of a session that have begun, and how they stand: as long as none of that changes, no run has ended or begun. */
export function begunRuns(marks: readonly RunMark[] | undefined): string {
  const begun = (marks ?? []).filter(({ attempt }) => attempt > 0);
  return begun.map(({ run_id, status }) => `${run_id} ${status}`).join();
}

/**
 * Thrown by `AttemptStore.finish`, which then writes nothing, when another run of the session has begun or ended since
 * `RunOutcome.readAt`: what the session waits for has to be read again.
 */
export class SessionMovedOn extends AppError {
  constructor(sessionId: string) {
    super("invalid_state", `Another run of session "${sessionId}" has begun or ended.`);
  }
}

/**
 * Thrown by `AttemptStore.finish`, which then writes nothing, when another server has requested a rollback that this one does
 * not know of: the checkpoints have to be removed first, since the next run may start elsewhere right after the end.
 */
export class RollbackRequired extends AppError {
  constructor(runId: string) {
    super("invalid_state", `Run "${runId}" is to be rolled back, and its states are still there.`);
  }
}

/** The emitted events and the usage of model calls that are not stored yet. */
export interface UnstoredEvents {
  /** Calls `write` with them, one call at a time. They count as stored once it resolves. */
  flushWith<Result>(write: (events: RunEvent[], usage: readonly UsageEntry[]) => Promise<Result>): Promise<Result>;
}

/** No events and no usage. */
export const noEvents: UnstoredEvents = { flushWith: (write) => write([], []) };

/**
 * The checkpointer of one attempt of a run. After an abort LangGraph returns while steps may still run; their writes after
 * `close` are dropped, so that none comes after the writes of the stop.
 */
export interface RunCheckpointer extends BaseCheckpointSaver {
  /** Drops every later write; resolves when the writes in flight have settled. */
  close(): Promise<void>;
}

/**
 * Everything that one attempt writes for its run: the only way to write for a run. Each write is fenced: its transaction
 * checks that the attempt still owns the run. Otherwise it writes nothing and throws `conflict`; for a removed run,
 * `not_found`.
 */
export interface AttemptStore {
  /** Reserves ids of events below `mark`, so that a crash cannot reuse one that was sent. On disk when it resolves. */
  reserve(mark: number): Promise<void>;
  /**
   * Appends to the run's log, and adds the usage to the sums of its owners (`UsageStore`). Values inside are stored by
   * value; messages of the session are stored once.
   */
  append(events: RunEvent[], usage?: readonly UsageEntry[]): Promise<void>;
  /**
   * Each `put` and `putWrites` of it is one transaction with the events emitted before it and with the usage, so that
   * no checkpoint is on disk without them.
   */
  checkpointer(events: UnstoredEvents): RunCheckpointer;
  /**
   * The run's end, with the last events in its transaction, on disk when it resolves; `undefined`, and nothing is
   * written, when it has ended already or is another attempt's. Throws `RollbackRequired` and `SessionMovedOn`.
   */
  finish(outcome: RunOutcome, events?: UnstoredEvents): Promise<Run | undefined>;
  /** The server stops: the next attempt of the run counts no crash. On disk when it resolves. */
  park(): Promise<void>;
  /** The attempt has stopped before the end of its run: any server may resume it at once, and no crash is counted. */
  release(): Promise<void>;
  /**
   * Whether the database has lost committed writes of the attempt. The attempt cannot continue, and the run needs a new one.
   * Absent for a database within the process.
   */
  readonly isLost?: boolean;
  readonly ledger: Ledger;
  readonly operations: OperationStore;
  readonly requests: Pick<ModelRequestStore, "record">;
}

/** What came of asking the ledger for leave to start a call (law 3). */
export type LedgerAnswer =
  | { kind: "start" }
  | { kind: "repeat" }
  | { kind: "reconcile"; started_at: string }
  | { kind: "finished"; result: unknown }
  | { kind: "unknown"; started_at: string };

/** The record of tool effects, to be read: what was begun and what came of it. */
export interface LedgerReader {
  get(sessionId: string, toolCallId: string): Promise<ToolCallRecord | undefined>;
  list(sessionId: string): Promise<ToolCallRecord[]>;
  /** When these calls began, by id, without reading what they gave; of unknown ones nothing. */
  begun(sessionId: string, toolCallIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

/** The record of tool effects. */
export interface Ledger extends LedgerReader {
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
  /**
   * Resolves when no other server can have taken what was started, which is at once but for an outage: asked right before what
   * cannot be taken back. Throws `conflict`. Absent where there can be no other server.
   */
  confirm?: () => Promise<void>;
  /** Records the result after the effect. */
  finish(sessionId: string, toolCallId: string, result: unknown): Promise<void>;
}

/** Bytes of files, by the SHA-256 of the bytes in hexadecimal. */
export type FileContents = ReadonlyMap<string, Uint8Array>;

/** What tool calls changed in the workspace, to be read. */
export interface OperationReader {
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

/** What tool calls changed in the workspace, and what undoes it. */
export interface OperationStore extends OperationReader {
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
}

/** Writes of calls that a person makes or undoes; they belong to no run. */
export interface ManualCallStores {
  ledger: Ledger;
  operations: OperationStore;
}
