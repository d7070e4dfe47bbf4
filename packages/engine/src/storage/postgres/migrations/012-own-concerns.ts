import type { Migration } from "../migrations.ts";

/**
 * `open_runs` knows in which server's hand a run is and whether it is to be stopped, so that a beat reads what is its own concern;
 * not as `owner`, which former versions ask for without saying of which table. `graphs` has since when each was served by any
 * server. `millrace_finish_v4` is version 3, but it does not end an attempt whose run is to be rolled back before the states of it
 * are gone: the next run of the session would begin from them at another server.
 */
export const ownConcerns: Migration = {
  id: 12,
  oldest: 9,
  sql: String.raw`
    CREATE TABLE graphs (graph_id text COLLATE "C" PRIMARY KEY, since text NOT NULL);
    ALTER TABLE open_runs ADD COLUMN server bigint, ADD COLUMN has_stop boolean NOT NULL DEFAULT false;
    CREATE FUNCTION millrace_note_open_run_v2() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF new.status IN ('pending', 'running') THEN
        INSERT INTO open_runs (run, session, status, server, has_stop)
        VALUES (new.id, new.session, new.status, new.owner, new.stop_requested IS NOT NULL)
        ON CONFLICT (run) DO UPDATE SET status = excluded.status, server = excluded.server, has_stop = excluded.has_stop;
      ELSE
        DELETE FROM open_runs WHERE run = new.id;
      END IF;
      RETURN NULL;
    END $$;
    DROP TRIGGER run_opened ON runs;
    DROP TRIGGER run_status_changed ON runs;
    CREATE TRIGGER run_opened AFTER INSERT ON runs
      FOR EACH ROW WHEN (new.status IN ('pending', 'running')) EXECUTE FUNCTION millrace_note_open_run_v2();
    CREATE TRIGGER run_status_changed AFTER UPDATE OF status, owner, stop_requested ON runs
      FOR EACH ROW WHEN (old.status <> new.status OR (new.status IN ('pending', 'running') AND (
        old.owner IS DISTINCT FROM new.owner OR old.stop_requested IS DISTINCT FROM new.stop_requested
      ))) EXECUTE FUNCTION millrace_note_open_run_v2();
    UPDATE open_runs SET server = runs.owner, has_stop = runs.stop_requested IS NOT NULL FROM runs WHERE runs.id = open_runs.run;
    CREATE INDEX open_runs_of_server ON open_runs (server);
    CREATE INDEX open_runs_to_stop ON open_runs (server) WHERE has_stop;
    CREATE FUNCTION millrace_finish_v4(
      p_run_id text, p_attempt int, p_status text, p_error text, p_ended_at text, p_session_status text, p_interrupts text,
      p_asks boolean, p_follows boolean, p_url text, p_host text, p_body text, p_now text, p_again boolean,
      p_session_id text, p_writes bigint, p_rows jsonb, p_server bigint, p_is_removed boolean
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
      IF p_attempt IS NOT NULL AND ended.stop_requested = 'rollback' AND NOT p_is_removed THEN
        RETURN QUERY SELECT 'rollback', NULL::runs, NULL;
        RETURN;
      END IF;
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
  `,
};
