import { orphanedRuns } from "../servers/lease-statements.ts";
import { runColumns } from "./run-rows.ts";

/** Without a live owner; with `$3` also a run that this server owns without knowing. */
const isFree = "(NOT EXISTS (SELECT FROM servers WHERE servers.id = runs.owner) OR ($3 AND runs.owner = $1))";

/** Whether another server, of the code version that the run began with, is live and can execute it. */
const isPreferredElsewhere = `EXISTS (SELECT FROM servers AS other
    WHERE other.code_version = runs.code_version AND other.id <> $1 AND other.lease_until >= now()
      AND runs.graph_id = ANY (other.graphs) IS NOT FALSE
      AND (runs.workspace IS NULL OR runs.workspace = ANY (other.workspaces) IS NOT FALSE))`;

/**
 * `RunStore.acquire`, for the server `$1` and at most `$2` sessions. Takes whole sessions, oldest first. Skips graphs that the
 * server does not serve and workspaces that it has not mounted, except for runs that only have to be ended. Without `$4` it also
 * skips runs that a live server of their code version can execute. Skips sessions that another server has locked. Arrays make
 * PostgreSQL use the primary key, so that the runs of other owners are not read.
 */
export const acquireRuns = `WITH RECURSIVE ${orphanedRuns}, found AS (
    SELECT run FROM left_over UNION SELECT run FROM open_runs WHERE $3 AND server = $1
  ), takeable AS (
    SELECT id AS run, session FROM runs WHERE id = ANY (ARRAY(SELECT run FROM found))
      AND (stop_requested IS NOT NULL OR (graph_id = ANY ((SELECT graphs FROM servers WHERE id = $1)::text[]) IS NOT FALSE
        AND (workspace IS NULL OR workspace = ANY ((SELECT workspaces FROM servers WHERE id = $1)::text[]) IS NOT FALSE)
        AND ($4 OR owner = $1 OR code_version = (SELECT s.code_version FROM servers AS s WHERE s.id = $1)
          OR NOT ${isPreferredElsewhere})))
  ), taken AS (
    SELECT id FROM sessions WHERE id = ANY (ARRAY(SELECT session FROM takeable))
    ORDER BY (SELECT min(run) FROM takeable WHERE session = sessions.id) LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED
  ), changed AS (
    UPDATE runs SET owner = $1 WHERE id = ANY (ARRAY(SELECT run FROM takeable WHERE session IN (SELECT id FROM taken)))
      AND ${isFree} AND EXISTS (SELECT FROM servers WHERE servers.id = $1)
    RETURNING runs.*
  )
  SELECT ${runColumns} FROM changed AS runs ORDER BY runs.created_at, runs.id`;
