import type { Migration } from "../migrations.ts";

/**
 * Which graphs each server serves; all of them where it does not say. `millrace_claim_v4` is version 3, but it leaves a run
 * that is in no server's hand to a server that serves its graph.
 */
export const graphsOfServers: Migration = {
  id: 10,
  oldest: 9,
  sql: String.raw`
    ALTER TABLE servers ADD COLUMN graphs text[];
    CREATE FUNCTION millrace_claim_v4(p_session_id text, p_now text, p_server bigint)
    RETURNS SETOF runs LANGUAGE plpgsql AS $$
    DECLARE
      s bigint;
      served text[];
      oldest record;
    BEGIN
      SELECT sessions.id INTO s FROM sessions
      WHERE session_id = p_session_id AND (turn_until IS NULL OR turn_until <= now()) FOR NO KEY UPDATE;
      IF EXISTS (SELECT FROM open_runs WHERE session = s AND status = 'running') THEN RETURN; END IF;
      SELECT graphs INTO served FROM servers WHERE servers.id = p_server;
      IF NOT FOUND THEN RETURN; END IF;
      SELECT runs.id, runs.owner, runs.graph_id INTO oldest FROM runs
      WHERE runs.id IN (SELECT run FROM open_runs WHERE session = s) AND stop_requested IS NULL
        AND (created_at <= p_now OR created_at = updated_at)
      ORDER BY created_at, runs.id LIMIT 1 FOR UPDATE;
      IF oldest.owner IS DISTINCT FROM p_server AND (oldest.graph_id <> ALL (served)
        OR EXISTS (SELECT FROM servers WHERE servers.id = oldest.owner)) THEN RETURN; END IF;
      RETURN QUERY UPDATE runs SET status = 'running', attempt = attempt + 1, writes = 0, owner = p_server, updated_at = p_now,
        started_at = coalesce(started_at, p_now)
      WHERE runs.id = oldest.id RETURNING *;
    END $$;
  `,
};
