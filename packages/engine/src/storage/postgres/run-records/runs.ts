import { z } from "zod";
import { clusterDate } from "../../../concurrency/cluster-time.ts";
import { idempotencyKeyReused } from "../../admission.ts";
import { changeOfRun, changeOfStatus } from "../../changes.ts";
import type { Run } from "../../records.ts";
import { readRow, readRows, SubmissionRow } from "../../rows.ts";
import type { Admitted, RunStore, Submission } from "../../storage.ts";
import { asyncCommit, type PostgresDatabase, type Statements } from "../database/database.ts";
import type { PeerNotifier } from "../notifications/peer-notifier.ts";
import { admitRun } from "./admit.ts";
import { byId, marksOf, runColumns, toMarks, toRun, toRuns } from "./run-rows.ts";
import { acquireRuns } from "./acquire.ts";

const isUnfinished = "runs.status IN ('pending', 'running')";
const RunIdRow = z.object({ run_id: z.string() });
const SessionIdRow = z.object({ session_id: z.string() });
const ChangeRow = z.object({ updated_at: z.string().nullable() });

const ofSession = `SELECT ${runColumns} FROM runs WHERE session = (SELECT id FROM sessions WHERE session_id = $1)
  AND ($2::text IS NULL OR runs.status = $2) ORDER BY runs.created_at DESC, runs.id DESC LIMIT $3 OFFSET $4`;
const submitted = `SELECT ${runColumns}, request_hash FROM runs
  WHERE session = (SELECT id FROM sessions WHERE session_id = $1) AND idempotency_key = $2`;
const unfinished = `SELECT ${runColumns} FROM runs WHERE id IN (SELECT run FROM open_runs) ORDER BY runs.created_at, runs.id`;
/** Dates of changes have no index, since each run changes its own: what changed last is among the runs that came last. */
const newestChange = `SELECT max(updated_at) AS updated_at
  FROM (SELECT updated_at FROM runs WHERE log_kept ORDER BY created_at DESC LIMIT 10000) AS newest`;
const leftRollbacks = `SELECT ${runColumns} FROM runs WHERE stop_requested = 'rollback' AND NOT ${isUnfinished}
  ORDER BY runs.id`;

/**
 * The next attempt of a run in the hand of a server; of a run that another one takes up at that moment, the one after it. `$4`:
 * the dates under which it was asked for before; whatever came of that counts.
 */
const reclaim = `WITH held AS (
    SELECT id FROM runs WHERE run_id = $1 AND status = 'running' AND owner = $3 AND updated_at <> ALL ($4::text[]) FOR UPDATE)
  UPDATE runs SET attempt = attempt + 1, writes = 0, crashes = crashes + CASE WHEN parked THEN 0 ELSE 1 END,
    parked = false, updated_at = $2
  WHERE id = (SELECT id FROM held) RETURNING ${runColumns}`;
const reclaimedAt = `${byId} AND status = 'running' AND updated_at = ANY ($2::text[]) AND owner = $3`;

const heldRuns = "SELECT run_id FROM runs WHERE id = ANY (ARRAY(SELECT run FROM open_runs WHERE server = $1))";
const releasePendingRuns = `UPDATE runs SET owner = NULL WHERE owner = $1 AND id IN (SELECT run FROM open_runs WHERE status = 'pending')`;

/**
 * Notes what is asked of a run that is not over, and why. A rollback stays one, and the first reason stands. `$4`: only where it
 * waits and was not asked before; of a claim at that moment, one or the other sees what the first has written.
 */
const markStop = `UPDATE runs SET stop_requested = CASE stop_requested WHEN 'rollback' THEN 'rollback' ELSE $2 END,
    cancel_reason = coalesce(cancel_reason, $3)
  WHERE run_id = $1 AND ${isUnfinished} AND (NOT $4 OR (status = 'pending' AND stop_requested IS NULL)) RETURNING owner`;
/** What `markStop` has written before its answer was lost. */
const takenOut = "SELECT owner FROM runs WHERE run_id = $1 AND attempt = 0 AND stop_requested IS NOT NULL";
const OwnerRow = z.object({ owner: z.number().nullable() });

async function requestStop(
  database: Statements,
  peers: PeerNotifier,
  [runId, action, reason, only]: Parameters<RunStore["requestStop"]>,
  again: boolean,
): Promise<boolean> {
  const values = [runId, action, reason === undefined ? null : JSON.stringify(reason), only !== undefined];
  const [marked] = await database.rows(markStop, values);
  const [found] =
    marked === undefined && again && only !== undefined ? await database.rows(takenOut, [runId]) : [marked];
  const run = readRow(OwnerRow, "runs", found);
  peers.stopRequested(run?.owner);
  return run !== undefined;
}

/** See `RunStore.submitted`. */
async function findSubmitted(
  database: Statements,
  sessionId: string,
  { key, hash }: Submission,
): Promise<Run | undefined> {
  const [row] = await database.read(submitted, [sessionId, key]);
  const known = readRow(SubmissionRow, "runs", row);
  if (known !== undefined && known.request_hash !== hash) throw idempotencyKeyReused(key);
  return toRun([row]);
}

/** Removes a run, and its events with it; a session that was busy with it is free again. */
async function remove(statements: Statements, runId: string): Promise<boolean> {
  const lock = `SELECT sessions.id FROM sessions JOIN runs ON runs.session = sessions.id WHERE run_id = $1
    FOR NO KEY UPDATE OF sessions`;
  await statements.rows(lock, [runId]);
  const run = toRun(await statements.rows(`DELETE FROM runs WHERE run_id = $1 RETURNING ${runColumns}`, [runId]));
  if (run === undefined) return false;
  statements.recordChanges(changeOfRun("deleted", run));
  const updated_at = clusterDate();
  const free = `UPDATE sessions SET status = 'idle', updated_at = $2 WHERE session_id = $1 AND status = 'busy'
    AND NOT EXISTS (SELECT FROM open_runs WHERE session = sessions.id)`;
  const isFree = (await statements.change(free, [run.session_id, updated_at])) > 0;
  if (isFree) statements.recordChanges(changeOfStatus(run.session_id, { status: "idle", updated_at }));
  return true;
}

const claimNext = `SELECT ${runColumns} FROM millrace_claim_v6($1, $2, $3) AS runs`;
const claimedAt = `SELECT ${runColumns} FROM runs WHERE updated_at = ANY ($2::text[]) AND owner = $3 AND id IN (
    SELECT run FROM open_runs WHERE session = (SELECT id FROM sessions WHERE session_id = $1) AND status = 'running')`;

/**
 * Begins attempts, each under a date of its own that its row has then. `lost`: the dates of the tries for the same key whose
 * answers were lost, also those that the caller has given up since; each of them may have been carried out.
 */
function beginner(
  database: PostgresDatabase,
  begin: (key: string, now: string, lost: readonly string[]) => Promise<Run | undefined>,
): (key: string) => Promise<Run | undefined> {
  const tried = new Map<string, readonly string[]>();
  return async (key) => {
    const before = tried.get(key) ?? [];
    const now = clusterDate();
    const all = [...before, now];
    tried.set(key, all);
    const run = await database.once((again) => begin(key, now, again ? all : before));
    tried.delete(key);
    return run;
  };
}

/** Claims the next run of a session. One whose answer was lost is looked for first: no other server works on what it may have begun. */
function claimer(database: PostgresDatabase, server: () => number): (sessionId: string) => Promise<Run | undefined> {
  return beginner(database, async (sessionId, now, lost) => {
    const begun = async (): Promise<Run | undefined> =>
      lost.length === 0 ? undefined : toRun(await database.read(claimedAt, [sessionId, lost, server()]));
    // The lost statement may be carried out while the next one waits for the session.
    return (await begun()) ?? toRun(await database.rows(claimNext, [sessionId, now, server()])) ?? (await begun());
  });
}

/** Begins the next attempt of a run. One whose answer was lost counts as a crash once. */
function reclaimer(database: PostgresDatabase, server: () => number): (runId: string) => Promise<Run | undefined> {
  return beginner(database, async (runId, now, lost) => {
    const done = toRun(await database.rows(reclaim, [runId, now, server(), lost]));
    if (done !== undefined || lost.length === 0) return done;
    return toRun(await database.read(reclaimedAt, [runId, lost, server()]));
  });
}

/** What the store of runs needs. */
interface RunStoreParts {
  /** The number of this server, in whose hand runs are. */
  server: () => number;
  /** The notices that other servers get about runs in their hands. */
  peers: PeerNotifier;
  /** The folder that a run of a graph works in here. */
  workspaceOf: (graphId: string) => string | null;
  /** See `ServerCapabilities.withdraw`. */
  withdraw: () => Promise<void>;
  /** See `admitRun`. */
  onFirst: (sessionId: string) => void;
}

/** The runs in PostgreSQL. What one session's runs are asked at once is done in its order. */
export function createRunStore(database: PostgresDatabase, { server, peers, ...parts }: RunStoreParts): RunStore {
  const { onFirst, workspaceOf } = parts;
  const claim = claimer(database, server);
  const beginAgain = reclaimer(database, server);
  const withNotification = (run: Run | undefined): Run | undefined => {
    if (run !== undefined) database.recordChanges(changeOfRun("changed", run));
    return run;
  };
  return {
    async admit(run, admission = {}) {
      const admit = (): Promise<Admitted> =>
        admitRun(database, run, admission, { server: server(), workspace: workspaceOf(run.graph_id), onFirst });
      const admitted = await database.inOrder(`session ${run.session_id}`, admit);
      if (admitted.claimed === undefined) peers.runQueued(run);
      return admitted;
    },

    submitted: (sessionId, submission) => findSubmitted(database, sessionId, submission),

    hasKey: async (runId) =>
      (await database.read("SELECT FROM runs WHERE run_id = $1 AND idempotency_key IS NOT NULL", [runId])).length > 0,

    get: async (runId) => toRun(await database.read(byId, [runId])),

    list: async (sessionId, { limit, offset, status }) =>
      toRuns(await database.read(ofSession, [sessionId, status ?? null, limit, offset])),

    marks: async (sessionId) => toMarks(await database.read(marksOf, [sessionId])),

    claim: (sessionId) =>
      database.inOrder(`session ${sessionId}`, async () => withNotification(await claim(sessionId))),

    reclaim: async (runId) => withNotification(await beginAgain(runId)),

    requestStop: (...asked) => database.once((again) => requestStop(database, peers, asked, again)),

    delete: (runId) => database.transaction((statements) => remove(statements, runId), false),

    async deleteOfAssistant(assistantId) {
      const sql = `DELETE FROM runs WHERE assistant_id = $1 AND NOT ${isUnfinished} RETURNING ${runColumns}, ${asyncCommit}`;
      const gone = toRuns(await database.rows(sql, [assistantId]));
      database.recordChanges(...gone.map((run) => changeOfRun("deleted", run)));
    },

    unfinished: async () => toRuns(await database.read(unfinished)),

    acquire: async ({ sessions = 1_000_000, again = false, anyVersion = false } = {}) =>
      toRuns(await database.rows(acquireRuns, [server(), sessions, again, anyVersion])),

    async held() {
      const rows = readRows(RunIdRow, "runs", await database.read(heldRuns, [server()]));
      return rows.map(({ run_id }) => run_id);
    },

    async releasePending() {
      await parts.withdraw();
      await database.change(releasePendingRuns, [server()]);
      // Also for runs that this server has released while it was still live for the others.
      peers.runsReleased();
    },

    async leftTemporary(keyedBefore) {
      const sql = `SELECT DISTINCT session_id FROM runs JOIN sessions ON sessions.id = runs.session
        WHERE is_temporary AND (idempotency_key IS NULL OR runs.updated_at < $1) AND NOT EXISTS (
          SELECT FROM open_runs WHERE open_runs.session = sessions.id)`;
      const rows = readRows(SessionIdRow, "runs", await database.read(sql, [keyedBefore]));
      return rows.map(({ session_id }) => session_id);
    },

    leftRollbacks: async () => toRuns(await database.read(leftRollbacks)),

    async lastChange() {
      return readRow(ChangeRow, "runs", (await database.read(newestChange))[0])?.updated_at ?? undefined;
    },
  };
}
