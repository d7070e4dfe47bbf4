import { AppError } from "../../../errors/errors.ts";
import type { Approval, Grant, Run, Session } from "../../records.ts";
import type { Admission, ApprovalAnswer, ApprovalStore, RunStore } from "../../storage.ts";
import { takeTurn } from "./crons.ts";
import { ApprovalRow, GrantRow, readRows, readRow } from "../database/rows.ts";
import type { Database } from "../database/database.ts";
import type { GroupCommit } from "../database/durable.ts";
import {
  claimRun,
  countPending,
  countPendingOfOwner,
  findRun,
  findSubmission,
  hasUnfinished,
  insertRun,
  lastChangeOfRuns,
  listLeftRollbacks,
  listLeftTemporary,
  listRuns,
  listUnfinished,
  markStop,
  markStops,
  noteGraph,
  reclaimRun,
  releaseSession,
  removeRun,
  removeRunsOf,
  setSessionStatus,
} from "./run-rows.ts";
import { admitAnswers, answeredIds, bindAnswer, followInterrupts } from "../../approvals.ts";

/** The run of a submission that came before; throws `conflict` when something else was sent under its key. */
function submittedBefore(
  database: Database,
  run: Run,
  submission: NonNullable<Admission["submission"]>,
): Run | undefined {
  const known = findSubmission(database, run.session_id, submission.key);
  if (known === undefined) return undefined;
  if (known.request_hash === submission.hash) return findRun(database, known.run_id);
  throw new AppError("conflict", `The Idempotency-Key "${submission.key}" came with another request before.`, {
    suggestion: "Send the same request again, or choose a new key for a new one.",
  });
}

/** Throws where the session's strategy or the length of the queue keeps a run out. */
function checkRoom(database: Database, run: Run, { queueLimit, ownerQueueLimit }: Admission): void {
  if (run.multitask_strategy === "reject" && hasUnfinished(database, run.session_id)) {
    throw new AppError(
      "conflict",
      "Thread is already running a task. Wait for it to finish or choose a different multitask strategy.",
      { recoverable: true },
    );
  }
  if (queueLimit !== undefined && countPending(database, queueLimit) >= queueLimit) {
    throw queueIsFull(`${queueLimit} runs are waiting already; this one was not taken.`);
  }
  if (ownerQueueLimit === undefined) return;
  if (countPendingOfOwner(database, run.session_id, ownerQueueLimit) >= ownerQueueLimit) {
    throw queueIsFull(`${ownerQueueLimit} runs of this owner are waiting already; this one was not taken.`);
  }
}

function queueIsFull(message: string): AppError {
  return new AppError("rate_limit", message, {
    suggestion: "Send it again when some of them are done.",
    recoverable: true,
  });
}

/**
 * The runs in SQLite. Admission and outcome share an fsync with whatever else is committed at that moment. A deleted
 * run takes its events with it; its checkpoints are the session's and stay.
 */
export function createRunStore(database: Database, commits: GroupCommit): RunStore {
  return {
    admit: (run, admission = {}) =>
      commits.durably(() => {
        const { submission, cron } = admission;
        const known = submission && submittedBefore(database, run, submission);
        if (known !== undefined) return { run: known };
        checkRoom(database, run, admission);
        if (cron !== undefined && !takeTurn(database, cron)) {
          throw new AppError("invalid_state", `Cron ${cron.cron_id} is not due at ${cron.due} any more.`);
        }
        const { multitask_strategy: strategy } = run;
        // With the admission: after a crash between the two, a restart would go on with both.
        if (strategy === "interrupt" || strategy === "rollback") markStops(database, run.session_id, strategy);
        const pending: Run = { ...recordAnswers(database, run, admission.answer), status: "pending" };
        const now = new Date().toISOString();
        const isDue = run.created_at <= now || run.created_at === run.updated_at;
        const isTaken = admission.hasRoom === true && isDue && !hasUnfinished(database, run.session_id);
        const taken = insertRun(database, pending, { submission, takenAt: isTaken ? now : undefined });
        setSessionStatus(database, run.session_id, "busy");
        noteGraph(database, run);
        return { run: pending, taken };
      }),

    get: async (runId) => database.read(() => findRun(database, runId)),

    list: async (sessionId, query) => database.read(() => listRuns(database, sessionId, query)),

    claim: (sessionId) => commits.transaction(() => claimRun(database, sessionId)),

    reclaim: (runId) => commits.transaction(() => reclaimRun(database, runId)),

    requestStop: (runId, action, reason) => commits.durably(() => markStop(database, runId, action, reason)),

    delete: (runId) =>
      commits.transaction(() => {
        const run = findRun(database, runId);
        if (run === undefined) return false;
        removeRun(database, runId);
        if (!hasUnfinished(database, run.session_id)) releaseSession(database, run.session_id);
        return true;
      }),

    deleteOfAssistant: (assistantId) => commits.transaction(() => removeRunsOf(database, assistantId)),

    unfinished: async () => database.read(() => listUnfinished(database)),

    leftTemporary: async (keyedBefore) => database.read(() => listLeftTemporary(database, keyedBefore)),

    leftRollbacks: async () => database.read(() => listLeftRollbacks(database)),

    lastChange: async () => database.read(() => lastChangeOfRuns(database)),
  };
}

/** The columns of an `Approval`. */
export const approvalColumns = `(SELECT session_id FROM sessions WHERE sessions.id = approvals.session) AS session_id,
  interrupt_id, task_id, value, state, decision, decided_by, run_id, asked_at, decided_at`;
const ofSession = "session = (SELECT id FROM sessions WHERE session_id = @session_id)";

/** Makes the rows follow the session's interrupts. Synchronous; the caller opens the transaction. */
export function followSession(database: Database, session: Pick<Session, "session_id" | "interrupts">): void {
  const ids = Object.values(session.interrupts).flatMap((asked) => asked.map(({ id }) => id));
  const known = readConcerned(database, session.session_id, ids);
  if (known.length === 0 && ids.length === 0) return;
  const isUnfinished = (runId: string): boolean => {
    const status = findRun(database, runId)?.status;
    return status === "pending" || status === "running";
  };
  write(database, followInterrupts(known, session, new Date().toISOString(), isUnfinished));
}

/**
 * Records what a run answers that is about to be admitted, and gives the run with its answer bound. Throws what
 * `admitAnswers` throws. Synchronous; the caller opens the transaction.
 */
function recordAnswers(database: Database, run: Run, answer?: ApprovalAnswer): Run {
  const now = new Date().toISOString();
  const answers = (run.kwargs.command?.["resume"] ?? undefined) !== undefined;
  const known = readConcerned(database, run.session_id, answers ? answeredIds(run) : []);
  if (known.length === 0 && !answers && answer === undefined) return run;
  write(database, admitAnswers(known, run, { now, busy: hasUnfinished(database, run.session_id), answer }));
  if (answer?.grant !== undefined) writeGrant(database, run.session_id, answer.interrupt_id, answer.grant, now);
  return bindAnswer(known, run);
}

function writeGrant(
  database: Database,
  session_id: string,
  interrupt_id: string,
  grant: NonNullable<ApprovalAnswer["grant"]>,
  created_at: string,
): void {
  database
    .prepare(
      `INSERT INTO grants (grant_id, session, tool, path_pattern, interrupt_id, created_at)
       SELECT @grant_id, id, @tool, @path_pattern, @interrupt_id, @created_at FROM sessions WHERE session_id = @session_id`,
    )
    .run({ ...grant, interrupt_id, session_id, created_at });
}

/** The pending rows of a session, and those with these ids. */
function readConcerned(database: Database, session_id: string, ids: readonly string[]): Approval[] {
  const pending = readRows(
    ApprovalRow,
    "approvals",
    database
      .prepare(
        `SELECT ${approvalColumns} FROM approvals WHERE ${ofSession} AND state = 'pending' ORDER BY asked_at, id`,
      )
      .all({ session_id }),
  );
  const others = ids
    .filter((id) => !pending.some(({ interrupt_id }) => interrupt_id === id))
    .flatMap((id) => find(database, session_id, id) ?? []);
  return [...pending, ...others];
}

function find(database: Database, session_id: string, interrupt_id: string): Approval | undefined {
  const sql = `SELECT ${approvalColumns} FROM approvals WHERE ${ofSession} AND interrupt_id = @interrupt_id`;
  return readRow(ApprovalRow, "approvals", database.prepare(sql).get({ session_id, interrupt_id }));
}

function write(database: Database, rows: readonly Approval[]): void {
  const sql = `INSERT INTO approvals
      (session, interrupt_id, task_id, value, state, decision, decided_by, run_id, asked_at, decided_at)
    SELECT id, @interrupt_id, @task_id, @value, @state, @decision, @decided_by, @run_id, @asked_at, @decided_at
    FROM sessions WHERE session_id = @session_id
    ON CONFLICT (session, interrupt_id) DO UPDATE SET task_id = excluded.task_id, value = excluded.value,
      state = excluded.state, decision = excluded.decision, decided_by = excluded.decided_by, run_id = excluded.run_id,
      asked_at = excluded.asked_at, decided_at = excluded.decided_at`;
  for (const row of rows) {
    const value = JSON.stringify(row.value ?? null);
    database.prepare(sql).run({ ...row, value, decision: JSON.stringify(row.decision ?? null) });
    const { session_id, interrupt_id: id, state, asked_at, decided_by, decided_at } = row;
    const patch = { state, asked_at, decided_by, decided_at };
    database.note?.({ type: "approval", what: state === "pending" ? "created" : "changed", id, session_id, patch });
  }
}

/** Questions and remembered yeses in SQLite. */
export function createApprovalStore(database: Database, commits: GroupCommit): ApprovalStore {
  return {
    get: async (sessionId, interruptId) => database.read(() => find(database, sessionId, interruptId)),

    pending: async (sessionId) => database.read(() => readConcerned(database, sessionId, [])),

    askedBefore: async (before, { limit, offset }) =>
      database.read(() =>
        readRows(
          ApprovalRow,
          "approvals",
          database
            .prepare(
              `SELECT ${approvalColumns} FROM approvals WHERE state = 'pending' AND asked_at < @before ORDER BY asked_at, id
               LIMIT @limit OFFSET @offset`,
            )
            .all({ before, limit, offset }),
        ),
      ),

    grants: async (session_id) =>
      database.read((): Grant[] =>
        readRows(
          GrantRow,
          "grants",
          database
            .prepare(
              `SELECT grant_id, @session_id AS session_id, tool, path_pattern, interrupt_id, created_at FROM grants
               WHERE ${ofSession} ORDER BY id`,
            )
            .all({ session_id }),
        ),
      ),

    revoke: (session_id, grant_id) =>
      commits.durably(
        () =>
          database
            .prepare(`DELETE FROM grants WHERE ${ofSession} AND grant_id = @grant_id`)
            .run({ session_id, grant_id }).changes > 0,
      ),
  };
}
