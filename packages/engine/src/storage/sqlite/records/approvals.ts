import { changeOfApproval } from "../../changes.ts";
import type { Approval, Grant, Run, Session } from "../../records.ts";
import type { ApprovalAnswer, ApprovalStore } from "../../storage.ts";
import { ApprovalRow, GrantRow, readRows, readRow } from "../../rows.ts";
import type { Database } from "../database/database.ts";
import type { GroupCommit } from "../database/durable.ts";
import { findRun, hasUnfinished } from "./run-statements.ts";
import { admitAnswers, answeredIds, bindAnswer, followInterrupts } from "../../approvals.ts";

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
export function recordAnswers(database: Database, run: Run, answer?: ApprovalAnswer): Run {
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
    database.recordChange?.(changeOfApproval(row));
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
