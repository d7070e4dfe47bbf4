import { clusterDate } from "../../../concurrency/cluster-time.ts";
import { AppError } from "../../../errors/errors.ts";
import type { Ledger, LedgerAnswer, RunWriter } from "../../attempt-store.ts";
import { answerRecorded, notStarted } from "../../memory.ts";
import type { ToolCallRecord } from "../../records.ts";
import { readRow, readRows, ToolCallRow, BegunRow } from "../../rows.ts";
import { asyncCommit, type PostgresDatabase } from "../database/database.ts";
import { type StreamState, writeFenced } from "./fence.ts";

const select = `SELECT session_id, tool_call_id, run_id, tool, effect, state, result, started_at, finished_at
  FROM tool_calls JOIN sessions ON sessions.id = tool_calls.session WHERE session_id = $1`;
/** Losing what is known of a pure call repeats it, which harms nothing. */
const unlessPure = `CASE WHEN effect = 'pure' THEN ${asyncCommit} END`;
const insert = `w AS (
  INSERT INTO tool_calls (session, attempt, tool_call_id, run_id, tool, effect, state, result, started_at)
  SELECT id, $2, $4, $5, $6, $7, 'started', 'null', $8 FROM a ON CONFLICT DO NOTHING RETURNING ${unlessPure})`;
const update = `w AS (
  UPDATE tool_calls SET state = 'finished', result = $5, finished_at = $6
  WHERE session = (SELECT id FROM a) AND tool_call_id = $4 RETURNING ${unlessPure})`;
/** The end of a pure call: its start did not wait for the disk, and may be among what a crash of PostgreSQL has lost. */
const finishPure = `w AS (
  INSERT INTO tool_calls (session, attempt, tool_call_id, run_id, tool, effect, state, result, started_at, finished_at)
  SELECT id, $2, $4, $7, $8, 'pure', 'finished', $5, $9, $6 FROM a
  ON CONFLICT (session, tool_call_id) DO UPDATE SET state = 'finished', result = excluded.result, finished_at = excluded.finished_at
  RETURNING ${unlessPure})`;

/**
 * The ledger in PostgreSQL (law 3): a start and a result are one statement each, with their fence in it, and on disk when
 * they resolve unless the call is `pure`. `of`: the attempt that writes, with its `stream`; absent for calls that belong to no run.
 */
export function createLedger(database: PostgresDatabase, of?: RunWriter, stream?: StreamState): Ledger {
  const once: PostgresDatabase["once"] = (work) => database.once(work, of !== undefined, () => stream?.isLost === true);
  const find = async (sessionId: string, toolCallId: string): Promise<ToolCallRecord | undefined> => {
    const [row] = await database.read(`${select} AND tool_call_id = $2`, [sessionId, toolCallId]);
    return readRow(ToolCallRow, "tool_calls", row);
  };

  /** The pure calls that go on, as `finishPure` needs them. */
  const pureCalls = new Map<string, [run_id: string, tool: string, started_at: string]>();
  const keyOf = (sessionId: string, toolCallId: string): string => JSON.stringify([sessionId, toolCallId]);

  return {
    start: async ({ session_id: sessionId, tool_call_id, run_id, tool, effect }) => {
      const started_at = clusterDate();
      const answer = await once<LedgerAnswer>(async (again) => {
        const values = [tool_call_id, run_id, tool, effect, started_at];
        const written = await writeFenced(database, { of, sessionId, stream }, insert, values);
        if (written.length > 0) return { kind: "start" };
        const recorded = await find(sessionId, tool_call_id);
        // Its session was removed in between.
        if (recorded === undefined) throw new AppError("not_found", `Session "${sessionId}" not found.`);
        const isOwn = again && recorded.started_at === started_at && recorded.run_id === run_id;
        return isOwn && recorded.state === "started" ? { kind: "start" } : answerRecorded(recorded);
      });
      const goesOn = effect === "pure" && answer.kind !== "finished";
      if (goesOn) pureCalls.set(keyOf(sessionId, tool_call_id), [run_id, tool, started_at]);
      return answer;
    },

    finish: (sessionId, toolCallId, result) => {
      const key = keyOf(sessionId, toolCallId);
      const pure = pureCalls.get(key);
      const values = [toolCallId, JSON.stringify(result ?? null), clusterDate(), ...(pure ?? [])];
      return once(async () => {
        const written = await writeFenced(
          database,
          { of, sessionId },
          pure === undefined ? update : finishPure,
          values,
        );
        pureCalls.delete(key);
        if (written.length === 0) throw notStarted(sessionId, toolCallId);
      });
    },

    get: find,

    begun: async (sessionId, toolCallIds) => {
      const rows = await database.read(
        `SELECT tool_call_id, started_at FROM tool_calls JOIN sessions ON sessions.id = tool_calls.session
         WHERE session_id = $1 AND tool_call_id = ANY($2::text[])`,
        [sessionId, toolCallIds],
      );
      return new Map(readRows(BegunRow, "tool_calls", rows).map((row) => [row.tool_call_id, row.started_at]));
    },

    list: async (sessionId) =>
      readRows(ToolCallRow, "tool_calls", await database.read(`${select} ORDER BY tool_calls.id`, [sessionId])),
  };
}
