import { orphanedRuns } from "../servers/lease-statements.ts";
import { runColumns } from "./run-rows.ts";

/** Without a live owner; with `$3` also a run that this server owns without knowing. */
const isFree = "(NOT EXISTS (SELECT FROM servers WHERE servers.id = runs.owner) OR ($3 AND runs.owner = $1))";

/**
 * `RunStore.acquire`, for the server `$1` and at most `$2` sessions. Takes whole sessions, oldest first. Skips graphs that the
 * server does not serve and workspaces that it has not mounted, except for runs that only have to be ended. Skips sessions that
 * another server has locked. Arrays make PostgreSQL use the primary key, so that the runs of other owners are not read.
 */
export const acquireRuns = `WITH RECURSIVE ${orphanedRuns}, found AS (
    SELECT run FROM left_over UNION SELECT run FROM open_runs WHERE $3 AND server = $1
  ), takeable AS (
    SELECT id AS run, session FROM runs WHERE id = ANY (ARRAY(SELECT run FROM found))
      AND (stop_requested IS NOT NULL OR (graph_id = ANY ((SELECT graphs FROM servers WHERE id = $1)::text[]) IS NOT FALSE
        AND (workspace IS NULL OR workspace = ANY ((SELECT workspaces FROM servers WHERE id = $1)::text[]) IS NOT FALSE)))
  ), taken AS (
    SELECT id FROM sessions WHERE id = ANY (ARRAY(SELECT session FROM takeable))
    ORDER BY (SELECT min(run) FROM takeable WHERE session = sessions.id) LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED
  ), changed AS (
    UPDATE runs SET owner = $1 WHERE id = ANY (ARRAY(SELECT run FROM takeable WHERE session IN (SELECT id FROM taken)))
      AND ${isFree} AND EXISTS (SELECT FROM servers WHERE servers.id = $1)
    RETURNING runs.*
  )
  SELECT ${runColumns} FROM changed AS runs ORDER BY runs.created_at, runs.id`;
