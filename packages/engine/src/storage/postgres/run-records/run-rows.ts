import { z } from "zod";
import { type Run, RunMark } from "../../records.ts";
import { json, readRow, readRows, RunRow, runsMarked } from "../../rows.ts";

/** The columns of a `Run`, of a row called `runs`. */
export const runColumns = `runs.run_id, runs.assistant_id, runs.graph_id, runs.status, runs.kwargs, runs.metadata,
  runs.multitask_strategy, runs.attempt, runs.crashes, runs.event_mark, runs.expired_events, runs.stop_requested,
  runs.cancel_reason, runs.error, runs.created_at, runs.updated_at, runs.started_at,
  (SELECT session_id FROM sessions WHERE sessions.id = runs.session) AS session_id`;

/** A run by its id. */
export const byId = `SELECT ${runColumns} FROM runs WHERE run_id = $1`;

/** A session without runs has one row, without a run. */
export const marksOf = `SELECT runs.run_id, runs.status, runs.attempt, runs.stop_requested FROM sessions
  LEFT JOIN LATERAL (SELECT * FROM runs WHERE session = sessions.id ORDER BY created_at DESC, id DESC LIMIT ${runsMarked}) AS runs
    ON true
  WHERE sessions.session_id = $1 ORDER BY runs.created_at DESC, runs.id DESC`;
/** Without a run: the session has none. */
const FoundMark = z.union([RunMark, z.object({ run_id: z.null() })]);

/** What `marksOf` finds; `undefined` for an unknown session. */
export function toMarks(rows: unknown[]): RunMark[] | undefined {
  if (rows.length === 0) return undefined;
  return readRows(FoundMark, "runs", rows).flatMap((row) => ("status" in row ? [row] : []));
}

/** A row of `runs` with its session's id. A reason is a JSON text: people write it, and PostgreSQL takes no NUL. */
export const StoredRun = RunRow.extend({
  cancel_reason: z.union([json(z.string()), z.null()]).transform((reason) => reason ?? undefined),
});

/** The runs of the rows of a statement that selects `runColumns`. */
export function toRuns(rows: unknown[]): Run[] {
  return readRows(StoredRun, "runs", rows);
}

/** The only run of such a statement, if there is one. */
export function toRun(rows: unknown[]): Run | undefined {
  return readRow(StoredRun, "runs", rows[0]);
}
