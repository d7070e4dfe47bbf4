import type { Migration } from "../migrations.ts";

/**
 * The code version of each server, none of one that stops, and the one with which each run began. `millrace_admit_v5` and
 * `millrace_claim_v6` are the versions before them, but they store the latter.
 */
export const codeVersions: Migration = {
  id: 20,
  oldest: 9,
  sql: String.raw`
    ALTER TABLE servers ADD COLUMN code_version text COLLATE "C";
    ALTER TABLE runs ADD COLUMN code_version text COLLATE "C";
    CREATE FUNCTION millrace_admit_v5(
      p_session_id text, p_run_id text, p_assistant_id text, p_graph_id text, p_kwargs text, p_metadata text,
      p_strategy text, p_is_temporary boolean, p_attempt int, p_event_mark int, p_error text, p_created_at text,
      p_updated_at text, p_key text, p_hash text, p_queue_limit int, p_owner_limit int, p_cron_id text, p_due text,
      p_next text, p_has_room boolean, p_graph text, p_answers boolean, p_is_answered boolean, p_now text, p_again boolean,
      p_server bigint, p_workspace text
    ) RETURNS TABLE (outcome text, known_run text, has_states boolean) LANGUAGE plpgsql AS $$
    DECLARE
      s record;
      known record;
      is_busy boolean;
      is_taken boolean;
      version text;
    BEGIN
      SELECT id, owner, turn_until INTO s FROM sessions WHERE session_id = p_session_id FOR NO KEY UPDATE;
      IF NOT FOUND THEN RETURN QUERY VALUES ('no session', NULL, NULL::boolean); RETURN; END IF;
      IF p_again THEN
        IF EXISTS (SELECT FROM runs WHERE run_id = p_run_id AND session = s.id) THEN
          RETURN QUERY VALUES ('done before', NULL, NULL::boolean);
          RETURN;
        END IF;
      END IF;
      IF p_key IS NOT NULL THEN
        SELECT run_id, request_hash INTO known FROM runs WHERE session = s.id AND idempotency_key = p_key;
        IF FOUND THEN
          RETURN QUERY SELECT CASE WHEN known.request_hash = p_hash THEN 'known' ELSE 'other request' END, known.run_id, NULL::boolean;
          RETURN;
        END IF;
      END IF;
      IF s.turn_until > now() THEN RETURN QUERY VALUES ('turn', NULL, NULL::boolean); RETURN; END IF;
      is_busy := EXISTS (SELECT FROM open_runs WHERE session = s.id);
      IF is_busy AND p_strategy = 'reject' THEN RETURN QUERY VALUES ('busy', NULL, NULL::boolean); RETURN; END IF;
      IF p_queue_limit IS NOT NULL AND p_queue_limit <= (
        SELECT count(*) FROM (SELECT FROM open_runs WHERE status = 'pending' LIMIT p_queue_limit) AS waiting
      ) THEN RETURN QUERY VALUES ('queue is full', NULL, NULL::boolean); RETURN; END IF;
      IF p_owner_limit IS NOT NULL AND p_owner_limit <= (
        SELECT count(*) FROM (
          SELECT FROM open_runs JOIN sessions ON sessions.id = open_runs.session
          WHERE open_runs.status = 'pending' AND sessions.owner IS NOT DISTINCT FROM s.owner LIMIT p_owner_limit
        ) AS waiting
      ) THEN RETURN QUERY VALUES ('share is full', NULL, NULL::boolean); RETURN; END IF;
      IF EXISTS (SELECT FROM runs WHERE run_id = p_run_id) THEN RETURN QUERY VALUES ('id is taken', NULL, NULL::boolean); RETURN; END IF;
      IF NOT p_is_answered AND (p_answers OR EXISTS (SELECT FROM approvals WHERE session = s.id AND state = 'pending')) THEN
        RETURN QUERY VALUES ('answers', NULL, NULL::boolean);
        RETURN;
      END IF;
      IF p_cron_id IS NOT NULL THEN
        UPDATE crons SET next_run_date = p_next WHERE cron_id = p_cron_id AND next_run_date = p_due AND enabled = 1;
        IF NOT FOUND THEN RETURN QUERY VALUES ('not due', NULL, NULL::boolean); RETURN; END IF;
      END IF;
      IF is_busy AND p_strategy IN ('interrupt', 'rollback') THEN
        -- With the admission: after a crash between the two, a restart would go on with both.
        UPDATE runs SET stop_requested = CASE stop_requested WHEN 'rollback' THEN 'rollback' ELSE p_strategy END
        WHERE id IN (SELECT run FROM open_runs WHERE session = s.id);
      END IF;
      is_taken := p_has_room AND NOT is_busy AND (p_created_at <= p_now OR p_created_at = p_updated_at);
      IF is_taken THEN
        SELECT code_version INTO version FROM servers WHERE id = p_server;
        is_taken := FOUND;
      END IF;
      INSERT INTO runs (run_id, session, assistant_id, graph_id, status, kwargs, metadata, multitask_strategy, is_temporary,
        idempotency_key, request_hash, attempt, event_mark, error, created_at, updated_at, started_at, owner,
        workspace, code_version)
      VALUES (p_run_id, s.id, p_assistant_id, p_graph_id, CASE WHEN is_taken THEN 'running' ELSE 'pending' END, p_kwargs,
        p_metadata, p_strategy, p_is_temporary, p_key, p_hash, CASE WHEN is_taken THEN 1 ELSE p_attempt END, p_event_mark,
        p_error, p_created_at, p_updated_at, CASE WHEN is_taken THEN p_now END, p_server, p_workspace,
        version);
      UPDATE sessions SET status = 'busy', updated_at = p_now, metadata = millrace_note_graph_v1(metadata, p_graph)
      WHERE id = s.id;
      RETURN QUERY SELECT CASE WHEN is_taken THEN 'taken' ELSE 'pending' END, NULL,
        EXISTS (SELECT FROM checkpoint_threads WHERE thread_id = p_session_id);
    END $$;
    CREATE FUNCTION millrace_claim_v6(p_session_id text, p_now text, p_server bigint)
    RETURNS SETOF runs LANGUAGE plpgsql AS $$
    DECLARE
      s bigint;
      served text[];
      mounted text[];
      version text;
      oldest record;
    BEGIN
      SELECT sessions.id INTO s FROM sessions
      WHERE session_id = p_session_id AND (turn_until IS NULL OR turn_until <= now()) FOR NO KEY UPDATE;
      IF EXISTS (SELECT FROM open_runs WHERE session = s AND status = 'running') THEN RETURN; END IF;
      SELECT graphs, workspaces, servers.code_version INTO served, mounted, version FROM servers WHERE servers.id = p_server;
      IF NOT FOUND THEN RETURN; END IF;
      SELECT runs.id, runs.owner, runs.graph_id, runs.workspace INTO oldest FROM runs
      WHERE runs.id IN (SELECT run FROM open_runs WHERE session = s) AND stop_requested IS NULL
        AND (created_at <= p_now OR created_at = updated_at)
      ORDER BY created_at, runs.id LIMIT 1 FOR UPDATE;
      IF oldest.owner IS DISTINCT FROM p_server AND (oldest.graph_id <> ALL (served) OR (oldest.workspace IS NOT NULL
        AND oldest.workspace <> ALL (mounted)) OR EXISTS (SELECT FROM servers WHERE servers.id = oldest.owner)) THEN RETURN; END IF;
      RETURN QUERY UPDATE runs SET status = 'running', attempt = attempt + 1, writes = 0, owner = p_server, updated_at = p_now,
        started_at = coalesce(started_at, p_now), code_version = coalesce(runs.code_version, version)
      WHERE runs.id = oldest.id RETURNING *;
    END $$;
  `,
};
