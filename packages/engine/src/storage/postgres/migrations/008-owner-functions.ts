/**
 * What begins, writes and ends a run where several servers work on the database. Each unfinished run is in the hand of one of
 * them, its owner, or of none. A change of one of these is a new version beside the old one.
 */
export const ownerFunctions = String.raw`
  -- millrace_write_rows_v1, which notes who makes a thread.
  CREATE FUNCTION millrace_write_rows_v2(p_run bigint, p_rows jsonb) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    IF p_rows ? 'threads' THEN
      INSERT INTO checkpoint_threads (key, thread_id, maker)
      SELECT key, thread_id, (p_rows ->> 'maker')::bigint
      FROM jsonb_populate_recordset(NULL::checkpoint_threads, p_rows -> 'threads');
    END IF;
    PERFORM millrace_write_rows_v1(p_run, p_rows - 'threads');
  END $$;

  -- millrace_write_v2 of a run that is in the hand of a server.
  CREATE FUNCTION millrace_write_v3(
    p_run_id text, p_session_id text, p_attempt int, p_writes bigint, p_rows jsonb, p_server bigint
  ) RETURNS bigint LANGUAGE plpgsql AS $$
  DECLARE
    written bigint := 0;
    told_by bigint;
  BEGIN
    IF p_run_id IS NOT NULL THEN
      UPDATE runs SET writes = CASE WHEN p_attempt IS NULL THEN writes ELSE writes + 1 END
      WHERE run_id = p_run_id AND session = (SELECT id FROM sessions WHERE session_id = p_session_id)
        AND (p_attempt IS NULL OR attempt = p_attempt) AND (p_server IS NULL OR owner = p_server)
        AND (p_writes IS NULL OR writes = p_writes)
        AND (NOT p_rows ? 'events' OR (p_rows -> 'events' ->> 'first_id')::int > greatest(expired_events, (
          SELECT max(last_id) FROM run_events WHERE run = runs.id
        )))
      RETURNING id, writes INTO told_by, written;
      IF NOT FOUND THEN RETURN NULL; END IF;
    END IF;
    PERFORM millrace_write_rows_v2(told_by, p_rows);
    RETURN written;
  END $$;

  -- millrace_admit_v2 by a server: the run is in its hand then. It does not begin one that has been taken for gone. A session
  -- that is being changed by hand takes no run.
  CREATE FUNCTION millrace_admit_v3(
    p_session_id text, p_run_id text, p_assistant_id text, p_graph_id text, p_kwargs text, p_metadata text,
    p_strategy text, p_is_temporary boolean, p_attempt int, p_event_mark int, p_error text, p_created_at text,
    p_updated_at text, p_key text, p_hash text, p_queue_limit int, p_owner_limit int, p_cron_id text, p_due text,
    p_next text, p_has_room boolean, p_graph text, p_answers boolean, p_is_answered boolean, p_now text, p_again boolean,
    p_server bigint
  ) RETURNS TABLE (outcome text, known_run text, has_states boolean) LANGUAGE plpgsql AS $$
  DECLARE
    s record;
    known record;
    is_busy boolean;
    is_taken boolean;
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
    is_taken := p_has_room AND NOT is_busy AND (p_created_at <= p_now OR p_created_at = p_updated_at)
      AND EXISTS (SELECT FROM servers WHERE id = p_server);
    INSERT INTO runs (run_id, session, assistant_id, graph_id, status, kwargs, metadata, multitask_strategy, is_temporary,
      idempotency_key, request_hash, attempt, event_mark, error, created_at, updated_at, started_at, owner)
    VALUES (p_run_id, s.id, p_assistant_id, p_graph_id, CASE WHEN is_taken THEN 'running' ELSE 'pending' END, p_kwargs,
      p_metadata, p_strategy, p_is_temporary, p_key, p_hash, CASE WHEN is_taken THEN 1 ELSE p_attempt END, p_event_mark,
      p_error, p_created_at, p_updated_at, CASE WHEN is_taken THEN p_now END, p_server);
    UPDATE sessions SET status = 'busy', updated_at = p_now, metadata = millrace_note_graph_v1(metadata, p_graph)
    WHERE id = s.id;
    RETURN QUERY SELECT CASE WHEN is_taken THEN 'taken' ELSE 'pending' END, NULL,
      EXISTS (SELECT FROM checkpoint_threads WHERE thread_id = p_session_id);
  END $$;

  -- millrace_claim_v2 by a server. The oldest run is the one to begin, in whose hand it is: another server's is not taken.
  CREATE FUNCTION millrace_claim_v3(p_session_id text, p_now text, p_server bigint)
  RETURNS SETOF runs LANGUAGE plpgsql AS $$
  DECLARE
    s bigint;
    oldest record;
  BEGIN
    SELECT sessions.id INTO s FROM sessions
    WHERE session_id = p_session_id AND (turn_until IS NULL OR turn_until <= now()) FOR NO KEY UPDATE;
    IF EXISTS (SELECT FROM open_runs WHERE session = s AND status = 'running') THEN RETURN; END IF;
    IF NOT EXISTS (SELECT FROM servers WHERE servers.id = p_server) THEN RETURN; END IF;
    SELECT runs.id, runs.owner INTO oldest FROM runs
    WHERE runs.id IN (SELECT run FROM open_runs WHERE session = s) AND stop_requested IS NULL
      AND (created_at <= p_now OR created_at = updated_at)
    ORDER BY created_at, runs.id LIMIT 1 FOR UPDATE;
    IF oldest.owner <> p_server AND EXISTS (SELECT FROM servers WHERE servers.id = oldest.owner) THEN RETURN; END IF;
    RETURN QUERY UPDATE runs SET status = 'running', attempt = attempt + 1, writes = 0, owner = p_server, updated_at = p_now,
      started_at = coalesce(started_at, p_now)
    WHERE runs.id = oldest.id RETURNING *;
  END $$;

  -- millrace_finish_v2 of a run that is in the hand of a server.
  CREATE FUNCTION millrace_finish_v3(
    p_run_id text, p_attempt int, p_status text, p_error text, p_ended_at text, p_session_status text, p_interrupts text,
    p_asks boolean, p_follows boolean, p_url text, p_host text, p_body text, p_now text, p_again boolean,
    p_session_id text, p_writes bigint, p_rows jsonb, p_server bigint
  ) RETURNS TABLE (outcome text, run runs, session_status text) LANGUAGE plpgsql AS $$
  DECLARE
    s record;
    ended runs;
  BEGIN
    SELECT sessions.id, sessions.owner INTO s FROM sessions JOIN runs ON runs.session = sessions.id
    WHERE runs.run_id = p_run_id FOR NO KEY UPDATE OF sessions;
    IF NOT FOUND THEN RETURN; END IF;
    -- Whatever else its attempt writes is waited for.
    SELECT * INTO ended FROM runs WHERE runs.run_id = p_run_id FOR UPDATE;
    IF p_again AND ended.status = p_status AND ended.updated_at = p_ended_at
      AND ended.attempt = coalesce(p_attempt, ended.attempt) THEN
      RETURN QUERY SELECT 'ended', ended, sessions.status FROM sessions WHERE id = s.id;
      RETURN;
    END IF;
    IF ended.status NOT IN ('pending', 'running') OR ended.attempt <> coalesce(p_attempt, ended.attempt)
      OR ended.owner IS DISTINCT FROM coalesce(p_server, ended.owner) THEN RETURN; END IF;
    IF NOT p_follows AND (p_asks OR EXISTS (SELECT FROM approvals WHERE session = s.id AND state = 'pending')) THEN
      RETURN QUERY SELECT 'approvals', NULL::runs, NULL;
      RETURN;
    END IF;
    IF ended.writes <> p_writes OR (p_rows ? 'events' AND (p_rows -> 'events' ->> 'first_id')::int <= greatest(
      ended.expired_events, (SELECT max(last_id) FROM run_events WHERE run_events.run = ended.id)
    )) THEN
      RETURN QUERY SELECT 'refused', NULL::runs, NULL;
      RETURN;
    END IF;
    IF p_rows IS NOT NULL THEN PERFORM millrace_write_rows_v2(ended.id, p_rows); END IF;
    UPDATE runs SET status = p_status, error = p_error, updated_at = p_ended_at,
      writes = CASE WHEN p_rows IS NULL OR p_attempt IS NULL THEN writes ELSE writes + 1 END
    WHERE id = ended.id RETURNING * INTO ended;
    IF EXISTS (SELECT FROM open_runs WHERE session = s.id) THEN p_session_status := 'busy'; END IF;
    UPDATE sessions SET status = p_session_status, interrupts = p_interrupts, updated_at = p_now WHERE id = s.id;
    IF p_url IS NOT NULL THEN
      INSERT INTO webhooks (run_id, url, host, owner, body, attempts, due_at)
      VALUES (p_run_id, p_url, p_host, s.owner, p_body, 0, p_now);
    END IF;
    RETURN QUERY SELECT 'ended', ended, p_session_status;
  END $$;
`;
