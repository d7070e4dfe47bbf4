import { orphanedRuns } from "../servers/lease-statements.ts";
import { runColumns } from "./run-rows.ts";

/** Not in the hand of a server that works; `$3`: or in this one's, which does not know of it. */
const isFree = "(NOT EXISTS (SELECT FROM servers WHERE servers.id = runs.owner) OR ($3 AND runs.owner = $1))";

/**
 * `RunStore.take`, by the server `$1`, of at most `$2` sessions. The oldest come first, each session whole. What is of a graph
 * that this server does not serve, or works in a folder that it has not mounted, is left to others, unless it is only to be ended. Sessions that another server looks through
 * at the moment are its own. By arrays the runs are found by their keys, as few as there are: what is in others' hands is not read.
 */
export const take = `WITH RECURSIVE ${orphanedRuns}, found AS (
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
