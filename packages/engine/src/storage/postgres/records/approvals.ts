import { z } from "zod";
import { clusterDate } from "../../../concurrency/cluster-time.ts";
import { admitAnswers, answeredIds, bindAnswer, followInterrupts } from "../../approvals.ts";
import { changeOfApproval } from "../../changes.ts";
import type { Approval, Run, Session } from "../../records.ts";
import { ApprovalRow, GrantRow, json, readRow, readRows } from "../../rows.ts";
import type { ApprovalAnswer, ApprovalStore } from "../../storage.ts";
import type { Statements } from "../database/database.ts";

/** The columns of an `Approval`. */
export const approvalColumns = `(SELECT session_id FROM sessions WHERE sessions.id = approvals.session) AS session_id,
  interrupt_id, task_id, value, state, decision, decided_by, run_id, asked_at, decided_at`;
const ofSession = "session = (SELECT id FROM sessions WHERE session_id = $1)";

/** A pattern is a JSON text: PostgreSQL takes no NUL and no half of a surrogate pair. */
const StoredGrant = GrantRow.extend({ path_pattern: json(GrantRow.shape.path_pattern) });
const RunIdRow = z.object({ run_id: z.string() });

/** Makes the rows follow the session's interrupts, in the caller's transaction. */
export async function followSession(
  statements: Statements,
  session: Pick<Session, "session_id" | "interrupts">,
): Promise<void> {
  const ids = Object.values(session.interrupts).flatMap((asked) => asked.map(({ id }) => id));
  const known = await readConcerned(statements, session.session_id, ids);
  if (known.length === 0 && ids.length === 0) return;
  const unfinished = await findUnfinished(statements, known);
  const now = clusterDate();
  await write(
    statements,
    followInterrupts(known, session, now, (runId) => unfinished.has(runId)),
  );
}

/**
 * Records what a run answers that is about to be admitted, in the caller's transaction, which holds the session. Gives the
 * run with its answer bound. Throws what `admitAnswers` throws.
 */
export async function recordAnswers(statements: Statements, run: Run, answer?: ApprovalAnswer): Promise<Run> {
  const now = clusterDate();
  const answers = (run.kwargs.command?.["resume"] ?? undefined) !== undefined;
  const known = await readConcerned(statements, run.session_id, answers ? answeredIds(run) : []);
  if (known.length === 0 && !answers && answer === undefined) return run;
  const isBusy = `SELECT 1 FROM open_runs WHERE ${ofSession} LIMIT 1`;
  const busy = (await statements.change(isBusy, [run.session_id])) > 0;
  await write(statements, admitAnswers(known, run, { now, busy, answer }));
  if (answer?.grant !== undefined) await writeGrant(statements, run.session_id, answer.interrupt_id, answer.grant, now);
  return bindAnswer(known, run);
}

async function writeGrant(
  statements: Statements,
  sessionId: string,
  interruptId: string,
  { grant_id, tool, path_pattern }: NonNullable<ApprovalAnswer["grant"]>,
  createdAt: string,
): Promise<void> {
  const sql = `INSERT INTO grants (session, grant_id, tool, path_pattern, interrupt_id, created_at)
    SELECT id, $2, $3, $4, $5, $6 FROM sessions WHERE session_id = $1`;
  const values = [sessionId, grant_id, tool, JSON.stringify(path_pattern), interruptId, createdAt];
  await statements.change(sql, values);
}

/** The pending rows of a session, and those with these ids. */
async function readConcerned(
  statements: Statements,
  sessionId: string,
  ids: readonly string[] = [],
): Promise<Approval[]> {
  const sql = `SELECT ${approvalColumns} FROM approvals
    WHERE ${ofSession} AND (state = 'pending' OR interrupt_id = ANY ($2::text[]))
    ORDER BY state <> 'pending', asked_at, id`;
  return readRows(ApprovalRow, "approvals", await statements.read(sql, [sessionId, ids]));
}

/** The runs of these answers that are not over. */
async function findUnfinished(statements: Statements, known: readonly Approval[]): Promise<Set<string>> {
  const runIds = known.flatMap(({ run_id }) => run_id ?? []);
  if (runIds.length === 0) return new Set();
  const sql = "SELECT run_id FROM runs WHERE run_id = ANY ($1::text[]) AND status IN ('pending', 'running')";
  const rows = readRows(RunIdRow, "runs", await statements.read(sql, [runIds]));
  return new Set(rows.map(({ run_id }) => run_id));
}

async function write(statements: Statements, changed: readonly Approval[]): Promise<void> {
  // A question that several tasks have asked is one row.
  const rows = [...new Map(changed.map((row) => [row.interrupt_id, row])).values()];
  const [first] = rows;
  if (first === undefined) return;
  const sql = `INSERT INTO approvals
      (session, interrupt_id, task_id, value, state, decision, decided_by, run_id, asked_at, decided_at)
    SELECT (SELECT id FROM sessions WHERE session_id = $1), interrupt_id, task_id, value, state, decision, decided_by,
      run_id, asked_at, decided_at
    FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[])
      WITH ORDINALITY AS row (interrupt_id, task_id, value, state, decision, decided_by, run_id, asked_at, decided_at, place)
    ORDER BY place
    ON CONFLICT (session, interrupt_id) DO UPDATE SET task_id = excluded.task_id, value = excluded.value,
      state = excluded.state, decision = excluded.decision, decided_by = excluded.decided_by, run_id = excluded.run_id,
      asked_at = excluded.asked_at, decided_at = excluded.decided_at`;
  await statements.change(sql, [
    first.session_id,
    rows.map((row) => row.interrupt_id),
    rows.map((row) => row.task_id),
    rows.map((row) => JSON.stringify(row.value ?? null)),
    rows.map((row) => row.state),
    rows.map((row) => JSON.stringify(row.decision ?? null)),
    rows.map((row) => row.decided_by),
    rows.map((row) => row.run_id),
    rows.map((row) => row.asked_at),
    rows.map((row) => row.decided_at),
  ]);
  statements.recordChanges(...rows.map(changeOfApproval));
}

/** Questions and remembered yeses in PostgreSQL. */
export function createApprovalStore(database: Statements): ApprovalStore {
  return {
    async get(sessionId, interruptId) {
      const sql = `SELECT ${approvalColumns} FROM approvals WHERE ${ofSession} AND interrupt_id = $2`;
      const [row] = await database.read(sql, [sessionId, interruptId]);
      return readRow(ApprovalRow, "approvals", row);
    },

    pending: (sessionId) => readConcerned(database, sessionId),

    async askedBefore(before, { limit, offset }) {
      const sql = `SELECT ${approvalColumns} FROM approvals WHERE state = 'pending' AND asked_at < $1
        ORDER BY asked_at, id LIMIT $2 OFFSET $3`;
      return readRows(ApprovalRow, "approvals", await database.read(sql, [before, limit, offset]));
    },

    async grants(sessionId) {
      const sql = `SELECT grant_id, $1::text AS session_id, tool, path_pattern, interrupt_id, created_at FROM grants
        WHERE ${ofSession} ORDER BY id`;
      return readRows(StoredGrant, "grants", await database.read(sql, [sessionId]));
    },

    revoke: async (sessionId, grantId) =>
      (await database.change(`DELETE FROM grants WHERE ${ofSession} AND grant_id = $2`, [sessionId, grantId])) > 0,
  };
}
