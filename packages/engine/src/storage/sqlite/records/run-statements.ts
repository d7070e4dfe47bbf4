import { z } from "zod";
import { AppError } from "../../../errors/errors.ts";
import { runExists } from "../../admission.ts";
import { changeOfRun, changeOfStatus } from "../../changes.ts";
import {
  type Run,
  RunMark,
  type RunStatus,
  type Session,
  type SessionStatus,
  type StopAction,
  type Page,
} from "../../records.ts";
import { type RunOutcome, type RunWriter, attemptSuperseded } from "../../attempt-store.ts";
import type { Admission, RunStore } from "../../storage.ts";
import { CountRow, parseRow, readRows, RunRow, runsMarked, SubmissionRow, readRow } from "../../rows.ts";
import { type Database, isConstraint } from "../database/database.ts";

// The statements on the run table. All are synchronous; the caller opens the transaction.

/** The columns of a `Run`. */
export const runColumns = `runs.run_id, assistant_id, graph_id, runs.status, kwargs, runs.metadata, multitask_strategy, attempt,
  crashes, event_mark, expired_events, stop_requested, cancel_reason, error, runs.created_at, runs.updated_at, runs.started_at,
  (SELECT session_id FROM sessions WHERE sessions.id = runs.session) AS session_id`;
const ofSession = "session = (SELECT id FROM sessions WHERE session_id = @session_id)";
/** Written as the partial index `runs_unfinished` has it, or SQLite does not use the index. */
export const isUnfinished = "status IN ('pending', 'running')";

/**
 * What a partial index says of a row is asked of the row as well, before anything is done about it: SQLite takes the
 * index's word, and its integrity check finds no page of one that has come to lie over another. An expression is not
 * answered from an index.
 */
const isTrulyUnfinished = "runs.status || '' IN ('pending', 'running')";

const ChangeRow = z.object({ updated_at: z.string() });

/**
 * Writes a new run; `takenAt` (ISO date): as one that begins at once, which is given as it is then. Throws `conflict` for
 * an id that is taken, `not_found` for a session that does not exist.
 */
export function insertRun(
  database: Database,
  run: Run,
  { submission, takenAt }: Pick<Admission, "submission"> & { takenAt?: string | undefined } = {},
): Run | undefined {
  const sql = `INSERT INTO runs (run_id, session, assistant_id, graph_id, status, kwargs, metadata, multitask_strategy,
      attempt, event_mark, error, created_at, updated_at, started_at, idempotency_key, request_hash)
    SELECT @run_id, id, @assistant_id, @graph_id, @status, @kwargs, @metadata, @multitask_strategy,
      @attempt, @event_mark, @error, @created_at, @updated_at, @started_at, @key, @hash
    FROM sessions WHERE session_id = @session_id RETURNING ${runColumns}`;
  const row = {
    ...run,
    ...(takenAt === undefined ? {} : { status: "running", attempt: 1 }),
    started_at: takenAt ?? null,
    key: submission?.key ?? null,
    hash: submission?.hash ?? null,
    kwargs: JSON.stringify(run.kwargs),
    metadata: JSON.stringify(run.metadata),
    error: JSON.stringify(run.error),
  };
  let written: unknown;
  try {
    written = database.prepare(sql).get(row);
  } catch (error) {
    if (isConstraint(error)) throw runExists(run);
    throw error;
  }
  if (written === undefined) throw new AppError("not_found", `Session "${run.session_id}" not found.`);
  database.recordChange?.(changeOfRun("created", run));
  return takenAt === undefined ? undefined : changed(database, written);
}

/** The row that a statement has changed. */
function changed(database: Database, row: unknown): Run | undefined {
  const run = readRow(RunRow, "runs", row);
  if (run !== undefined) database.recordChange?.(changeOfRun("changed", run));
  return run;
}

/** The run of an id. */
export function findRun(database: Database, run_id: string): Run | undefined {
  const sql = `SELECT ${runColumns} FROM runs WHERE run_id = @run_id`;
  return readRow(RunRow, "runs", database.prepare(sql).get({ run_id }));
}

/** One page of a session's runs, newest first. */
export function listRuns(database: Database, session_id: string, query: Page & { status?: RunStatus }): Run[] {
  const filter = query.status === undefined ? "" : "AND runs.status = @status";
  const sql = `SELECT ${runColumns} FROM runs WHERE ${ofSession} ${filter}
    ORDER BY runs.created_at DESC, runs.id DESC LIMIT @limit OFFSET @offset`;
  return readRows(RunRow, "runs", database.prepare(sql).all({ session_id, ...query }));
}

/** How the newest runs of a session stand, newest first; `undefined` for an unknown session. */
export function markRuns(database: Database, session_id: string): RunMark[] | undefined {
  if (database.prepare("SELECT 1 FROM sessions WHERE session_id = ?").get(session_id) === undefined) return undefined;
  const sql = `SELECT run_id, status, attempt, stop_requested FROM runs WHERE ${ofSession}
    ORDER BY runs.created_at DESC, runs.id DESC LIMIT ${runsMarked}`;
  return readRows(RunMark, "runs", database.prepare(sql).all({ session_id }));
}

/** Everything pending or running, oldest first. */
export function listUnfinished(database: Database): Run[] {
  const sql = `SELECT ${runColumns} FROM runs WHERE id IN (SELECT id FROM runs WHERE ${isUnfinished})
    AND ${isTrulyUnfinished} ORDER BY runs.created_at, runs.id`;
  return readRows(RunRow, "runs", database.prepare(sql).all());
}

const AttemptRow = z.object({ attempt: z.number() });

/**
 * The fence: a worker that was taken for dead must not write beside its successor (see docs/decisions). Throws `conflict`
 * when another attempt has taken the run up, `not_found` when the run is gone.
 */
export function requireAttempt(database: Database, { run_id, attempt }: RunWriter): void {
  if (attempt === undefined) return;
  const row = readRow(AttemptRow, "runs", database.prepare("SELECT attempt FROM runs WHERE run_id = ?").get(run_id));
  if (row === undefined) throw new AppError("not_found", `Run "${run_id}" not found.`);
  if (row.attempt !== attempt) throw attemptSuperseded({ run_id, attempt }, row.attempt);
}

const SessionIdRow = z.object({ session_id: z.string() });

/** Sessions of temporary runs, none of which is pending or running; with a key only those that ended before `keyedBefore`. */
export function listLeftTemporary(database: Database, keyedBefore: string): string[] {
  const sql = `SELECT DISTINCT sessions.session_id FROM runs JOIN sessions ON sessions.id = runs.session
    WHERE runs.id IN (SELECT id FROM runs WHERE json_extract(kwargs, '$.temporary'))
    AND json_extract(runs.kwargs || '', '$.temporary')
    AND (runs.idempotency_key IS NULL OR runs.updated_at < @keyedBefore) AND NOT EXISTS (
      SELECT 1 FROM runs AS other WHERE other.session = runs.session AND other.status IN ('pending', 'running'))`;
  return readRows(SessionIdRow, "runs", database.prepare(sql).all({ keyedBefore })).map(({ session_id }) => session_id);
}

/** Runs that are over and were to be removed, oldest first. */
export function listLeftRollbacks(database: Database): Run[] {
  const sql = `SELECT ${runColumns} FROM runs WHERE id IN (SELECT id FROM runs WHERE stop_requested = 'rollback')
    AND stop_requested || '' = 'rollback' AND NOT ${isTrulyUnfinished} ORDER BY runs.id`;
  return readRows(RunRow, "runs", database.prepare(sql).all());
}

/** When a run was last changed, of those whose log is kept. */
export function lastChangeOfRuns(database: Database): string | undefined {
  // The condition of the index `runs_with_log`: its last entry is the answer.
  const sql = "SELECT updated_at FROM runs WHERE log_kept = 1 ORDER BY updated_at DESC LIMIT 1";
  return readRow(ChangeRow, "runs", database.prepare(sql).get())?.updated_at;
}

const stopped = "UPDATE runs SET stop_requested = CASE stop_requested WHEN 'rollback' THEN 'rollback' ELSE @action END";

/** Notes what is asked of a run that is not over, and why; see `RunStore`. A rollback stays one, and the first reason stands. */
export function markStop(
  database: Database,
  ...[run_id, action, reason, only]: Parameters<RunStore["requestStop"]>
): boolean {
  const isMeant = only === undefined ? isUnfinished : "status = 'pending' AND stop_requested IS NULL";
  const sql = `${stopped}, cancel_reason = coalesce(cancel_reason, @reason) WHERE run_id = @run_id AND ${isMeant}`;
  return database.prepare(sql).run({ run_id, action, reason: reason ?? null }).changes > 0;
}

/** `markStop` for everything in a session that is not over. */
export function markStops(database: Database, session_id: string, action: StopAction): void {
  database.prepare(`${stopped} WHERE ${ofSession} AND ${isUnfinished}`).run({ session_id, action });
}

/** Whether a session has a pending or running run. */
export function hasUnfinished(database: Database, session_id: string): boolean {
  const sql = `SELECT 1 FROM runs WHERE ${ofSession} AND ${isUnfinished} LIMIT 1`;
  return database.prepare(sql).get({ session_id }) !== undefined;
}

/** The run that a session was sent under this key, and the hash of what was sent. */
export function findSubmission(
  database: Database,
  session_id: string,
  key: string,
): { run_id: string; request_hash: string } | undefined {
  const sql = `SELECT run_id, request_hash FROM runs WHERE ${ofSession} AND idempotency_key = @key`;
  return readRow(SubmissionRow, "runs", database.prepare(sql).get({ session_id, key }));
}

/** Whether a run came under a key. */
export function hasKey(database: Database, run_id: string): boolean {
  const sql = "SELECT 1 FROM runs WHERE run_id = @run_id AND idempotency_key IS NOT NULL";
  return database.prepare(sql).get({ run_id }) !== undefined;
}

/** How many runs are pending; counts no further than `limit`. */
export function countPending(database: Database, limit: number): number {
  const sql = `SELECT count(*) AS count FROM (
      SELECT 1 FROM runs WHERE ${isUnfinished} AND status = 'pending' LIMIT @limit
    )`;
  return parseRow(CountRow, "runs", database.prepare(sql).get({ limit })).count;
}

/**
 * How many runs of the owner of a session are pending; counts no further than `limit`. Sessions without an owner
 * count together.
 */
export function countPendingOfOwner(database: Database, session_id: string, limit: number): number {
  const sql = `SELECT count(*) AS count FROM (
      SELECT 1 FROM runs WHERE ${isUnfinished} AND status = 'pending'
        AND (SELECT owner FROM sessions WHERE id = runs.session)
          IS (SELECT owner FROM sessions WHERE session_id = @session_id)
      LIMIT @limit
    )`;
  return parseRow(CountRow, "runs", database.prepare(sql).get({ session_id, limit })).count;
}

/**
 * Starts the oldest pending run that is due and was not stopped, unless another one runs. One that was not delayed is
 * never too early: the machine's clock may have been set back since its admission.
 */
export function claimRun(database: Database, session_id: string): Run | undefined {
  const sql = `UPDATE runs SET status = 'running', attempt = attempt + 1, updated_at = @now,
      started_at = coalesce(started_at, @now)
    WHERE id = (
      SELECT id FROM runs WHERE ${ofSession} AND ${isUnfinished} AND status = 'pending'
        AND (created_at <= @now OR created_at = updated_at) AND stop_requested IS NULL
      ORDER BY created_at, id LIMIT 1
    ) AND status = 'pending' AND NOT EXISTS (SELECT 1 FROM runs WHERE ${ofSession} AND ${isUnfinished} AND status = 'running')
    RETURNING ${runColumns}`;
  return changed(database, database.prepare(sql).get({ session_id, now: new Date().toISOString() }));
}

/** The next attempt of a run that is running already; the former one was a crash unless it was parked. */
export function reclaimRun(database: Database, run_id: string): Run | undefined {
  const sql = `UPDATE runs SET attempt = attempt + 1, crashes = crashes + (parked = 0), parked = 0, updated_at = @now
    WHERE run_id = @run_id AND status = 'running' RETURNING ${runColumns}`;
  return changed(database, database.prepare(sql).get({ run_id, now: new Date().toISOString() }));
}

/** A running run is let go of on purpose, if it is still the attempt's. */
export function parkRun(database: Database, { run_id, attempt }: RunWriter): void {
  const sql = `UPDATE runs SET parked = 1
    WHERE run_id = @run_id AND status = 'running' AND attempt = coalesce(@attempt, attempt)`;
  database.prepare(sql).run({ run_id, attempt: attempt ?? null });
}

/** Compare and set: only an unfinished run of this attempt ends, so that of two outcomes the first one stands. */
export function endRun(
  database: Database,
  { run_id, attempt }: RunWriter,
  end: Pick<RunOutcome, "status" | "error" | "ended_at">,
): Run | undefined {
  const sql = `UPDATE runs SET status = @status, error = @error, updated_at = @now
    WHERE run_id = @run_id AND ${isUnfinished} AND attempt = coalesce(@attempt, attempt) RETURNING ${runColumns}`;
  const { status, error = null, ended_at = new Date().toISOString() } = end;
  const row = { run_id, status, error: JSON.stringify(error), attempt: attempt ?? null, now: ended_at };
  return changed(database, database.prepare(sql).get(row));
}

/** Removes a run, and its events with it. */
export function removeRun(database: Database, run_id: string): void {
  const run = database.recordChange && findRun(database, run_id);
  if (run !== undefined) database.recordChange?.(changeOfRun("deleted", run));
  database.prepare("DELETE FROM runs WHERE run_id = ?").run(run_id);
}

/** Removes the runs of an assistant that are over, and their events with them. */
export function removeRunsOf(database: Database, assistant_id: string): void {
  const sql = `DELETE FROM runs WHERE assistant_id = ? AND NOT ${isTrulyUnfinished} RETURNING ${runColumns}`;
  const gone = readRows(RunRow, "runs", database.prepare(sql).all(assistant_id));
  for (const run of gone) database.recordChange?.(changeOfRun("deleted", run));
}

/** What a run makes of its session. Without `interrupts`, those of the session stay. */
export function setSessionStatus(
  database: Database,
  session_id: string,
  status: SessionStatus,
  interrupts?: Session["interrupts"],
): void {
  const updated_at = new Date().toISOString();
  database
    .prepare(
      `UPDATE sessions SET status = @status, interrupts = coalesce(@interrupts, interrupts), updated_at = @now
       WHERE session_id = @session_id`,
    )
    .run({ session_id, status, interrupts: JSON.stringify(interrupts) ?? null, now: updated_at });
  database.recordChange?.(changeOfStatus(session_id, { status, updated_at }));
}

/** Records in a session's metadata which graph it last ran, as the platform does. */
export function recordGraph(database: Database, { session_id, graph_id, assistant_id }: Run): void {
  const sql = `UPDATE sessions SET metadata = json_set(metadata, '$.graph_id', @graph_id, '$.assistant_id', @assistant_id)
    WHERE session_id = @session_id`;
  database.prepare(sql).run({ session_id, graph_id, assistant_id });
}

/** A session that was busy with a run that is gone is free again. */
export function releaseSession(database: Database, session_id: string): void {
  const sql =
    "UPDATE sessions SET status = 'idle', updated_at = @now WHERE session_id = @session_id AND status = 'busy'";
  const updated_at = new Date().toISOString();
  const { changes } = database.prepare(sql).run({ session_id, now: updated_at });
  if (changes > 0) database.recordChange?.(changeOfStatus(session_id, { status: "idle", updated_at }));
}
