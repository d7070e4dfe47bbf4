import { z } from "zod";
import { AppError } from "../../../errors/errors.ts";
import type { Ledger, RunWriter } from "../../attempt-store.ts";
import { answerRecorded, notStarted } from "../../memory.ts";
import type { ToolCallRecord } from "../../records.ts";
import { parseRow, readRow, readRows, ToolCallRow } from "../../rows.ts";
import type { Statements, Values } from "../database/database.ts";

const select = `SELECT session_id, tool_call_id, run_id, tool, effect, state, result, started_at, finished_at
  FROM tool_calls JOIN sessions ON sessions.id = tool_calls.session WHERE session_id = $1`;

/** What a write has found: whether its session is there, the run's attempt, and how many rows it has written. */
const Written = z.object({ has_session: z.boolean(), is_over: z.boolean(), has_run: z.boolean(), written: z.int() });

/**
 * The fence of a write that goes beside others of its attempt: the row of the run is held by a lock that other such writes
 * share, and for which a taker of the run has to wait. Of no attempt, there is nothing to hold.
 */
const fence = `s AS (SELECT id FROM sessions WHERE session_id = $1),
  f AS (SELECT id FROM runs WHERE run_id = $2 AND attempt = $3 AND status = 'running' FOR KEY SHARE),
  a AS (SELECT id FROM s WHERE $3::int IS NULL OR EXISTS (SELECT FROM f))`;
const found = `SELECT EXISTS (SELECT FROM s) AS has_session, NOT EXISTS (SELECT FROM a) AS is_over,
  EXISTS (SELECT FROM runs WHERE run_id = $2) AS has_run, (SELECT count(*)::int FROM w) AS written`;

/**
 * The ledger in PostgreSQL (law 3): a start and a result are one statement each, with their fence in it, and on disk when
 * they resolve. `of`: the attempt that writes; absent for calls that belong to no run.
 */
export function createLedger(database: Statements, of?: RunWriter): Ledger {
  const attempt = of?.attempt ?? null;
  const find = async (sessionId: string, toolCallId: string): Promise<ToolCallRecord | undefined> => {
    const [row] = await database.rows(`${select} AND tool_call_id = $2`, [sessionId, toolCallId]);
    return readRow(ToolCallRow, "tool_calls", row);
  };
  /** How many rows a fenced statement has written. */
  const write = async (sessionId: string, sql: string, values: Values): Promise<number> => {
    const runId = of?.run_id ?? "";
    const statement = `WITH ${fence}, w AS (${sql} RETURNING 1) ${found}`;
    const [row] = await database.rows(statement, [sessionId, runId, attempt, ...values]);
    const { has_session, is_over, has_run, written } = parseRow(Written, "tool_calls", row);
    if (!has_session) throw new AppError("not_found", `Session "${sessionId}" not found.`);
    if (!is_over) return written;
    if (!has_run) throw new AppError("not_found", `Run "${runId}" not found.`);
    throw new AppError("conflict", `Attempt ${attempt} of run "${runId}" is over: another one has taken it up.`);
  };

  return {
    async start({ session_id, tool_call_id, run_id, tool, effect }) {
      const sql = `INSERT INTO tool_calls (session, tool_call_id, run_id, attempt, tool, effect, state, result, started_at)
        SELECT id, $4, $5, $3, $6, $7, 'started', 'null', $8 FROM a ON CONFLICT DO NOTHING`;
      const values = [tool_call_id, run_id, tool, effect, new Date().toISOString()];
      if ((await write(session_id, sql, values)) > 0) return { kind: "start" };
      const recorded = await find(session_id, tool_call_id);
      // Its session was removed in between.
      if (recorded === undefined) throw new AppError("not_found", `Session "${session_id}" not found.`);
      return answerRecorded(recorded);
    },

    async finish(sessionId, toolCallId, result) {
      const sql = `UPDATE tool_calls SET state = 'finished', result = $5, finished_at = $6
        WHERE session = (SELECT id FROM a) AND tool_call_id = $4`;
      const values = [toolCallId, JSON.stringify(result ?? null), new Date().toISOString()];
      if ((await write(sessionId, sql, values)) === 0) throw notStarted(sessionId, toolCallId);
    },

    get: find,

    list: async (sessionId) =>
      readRows(ToolCallRow, "tool_calls", await database.rows(`${select} ORDER BY tool_calls.id`, [sessionId])),
  };
}
