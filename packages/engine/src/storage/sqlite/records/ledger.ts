import { AppError } from "../../../errors/errors.ts";
import type { ToolCallRecord } from "../../records.ts";
import type { Ledger, RunWriter } from "../../attempt-store.ts";
import { answerRecorded, notStarted } from "../../memory.ts";
import type { Database } from "../database/database.ts";
import { readRow, readRows, ToolCallRow, BegunRow } from "../../rows.ts";
import type { GroupCommit } from "../database/durable.ts";
import { requireAttempt } from "./run-statements.ts";

const select = `SELECT @session_id AS session_id, tool_call_id, run_id, tool, effect, state, result, started_at, finished_at
  FROM tool_calls WHERE session = (SELECT id FROM sessions WHERE session_id = @session_id)`;
const selectBegun = `SELECT tool_call_id, started_at FROM tool_calls
  WHERE session = (SELECT id FROM sessions WHERE session_id = @session_id)
    AND tool_call_id IN (SELECT value FROM json_each(@ids))`;

/**
 * The ledger in SQLite (law 3). A start that must not be forgotten is on disk before its promise resolves; a `pure` one
 * and the results are not waited for: losing them to a power cut repeats a harmless call or, for an unsafe one, reports
 * "unknown", which is true. `of`: the attempt that writes; absent for calls that belong to no run.
 */
export function createLedger(database: Database, commits: GroupCommit, of?: RunWriter): Ledger {
  const fence = (): void => of && requireAttempt(database, of);
  const find = (session_id: string, tool_call_id: string): ToolCallRecord | undefined =>
    readRow(
      ToolCallRow,
      "tool_calls",
      database.prepare(`${select} AND tool_call_id = @tool_call_id`).get({ session_id, tool_call_id }),
    );

  const insert = (call: Parameters<Ledger["start"]>[0]): void => {
    const { changes } = database
      .prepare(
        `INSERT INTO tool_calls (session, tool_call_id, run_id, tool, effect, state, result, started_at)
         SELECT id, @tool_call_id, @run_id, @tool, @effect, 'started', 'null', @started_at
         FROM sessions WHERE session_id = @session_id`,
      )
      .run({ ...call, started_at: new Date().toISOString() });
    if (changes === 0) throw new AppError("not_found", `Session "${call.session_id}" not found.`);
  };

  return {
    start(call) {
      const work = () => {
        fence();
        const recorded = find(call.session_id, call.tool_call_id);
        if (recorded !== undefined) return answerRecorded(recorded);
        insert(call);
        return { kind: "start" } as const;
      };
      return call.effect === "pure" ? commits.transaction(work) : commits.durably(work);
    },

    finish(sessionId, toolCallId, result) {
      return commits.transaction(() => {
        fence();
        const { changes } = database
          .prepare(
            `UPDATE tool_calls SET state = 'finished', result = @result, finished_at = @finished_at
             WHERE session = (SELECT id FROM sessions WHERE session_id = @session_id) AND tool_call_id = @tool_call_id`,
          )
          .run({
            session_id: sessionId,
            tool_call_id: toolCallId,
            result: JSON.stringify(result ?? null),
            finished_at: new Date().toISOString(),
          });
        if (changes === 0) throw notStarted(sessionId, toolCallId);
      });
    },

    async get(sessionId, toolCallId) {
      return database.read(() => find(sessionId, toolCallId));
    },

    begun: async (sessionId, toolCallIds) => begunIn(database, sessionId, toolCallIds),

    list: async (session_id) =>
      database.read(() =>
        readRows(ToolCallRow, "tool_calls", database.prepare(`${select} ORDER BY rowid`).all({ session_id })),
      ),
  };
}

function begunIn(database: Database, session_id: string, toolCallIds: readonly string[]): Map<string, string> {
  const values = { session_id, ids: JSON.stringify(toolCallIds) };
  const rows = database.read(() => readRows(BegunRow, "tool_calls", database.prepare(selectBegun).all(values)));
  return new Map(rows.map(({ tool_call_id, started_at }) => [tool_call_id, started_at]));
}
