import type { Migration } from "../migrations.ts";

/**
 * `millrace_write_v4` is version 3, but what nearly every step writes are values of the call and no JSON: the first of its
 * checkpoints, writes and items, and its events. It finds the run by its key, where the attempt has learned that.
 */
export const oneStep: Migration = {
  id: 11,
  oldest: 9,
  sql: String.raw`
    CREATE FUNCTION millrace_write_v4(
      p_run_id text, p_session_id text, p_attempt int, p_writes bigint, p_server bigint, p_run bigint, p_rows jsonb,
      p_key bigint, p_namespace bigint, p_id text, p_parent text, p_of_run bigint, p_base bigint, p_data text, p_crc bigint,
      p_checkpoint bigint, p_task text, p_part int, p_path text, p_write_of_run bigint, p_write_text text,
      p_write_bytes bytea, p_write_crc bigint,
      p_thread bigint, p_first int, p_count int, p_item_text text, p_item_bytes bytea, p_item_crc bigint,
      p_first_event int, p_last_event int, p_event_text text, p_event_bytes bytea
    ) RETURNS bigint LANGUAGE plpgsql AS $$
    DECLARE
      written bigint := 0;
      told_by bigint;
    BEGIN
      IF p_run IS NOT NULL THEN
        -- In two statements: where one may do without the look at the events, PostgreSQL plans it anew each time.
        IF p_first_event IS NULL THEN
          UPDATE runs SET writes = writes + 1
          WHERE id = p_run AND run_id = p_run_id AND attempt = p_attempt AND (p_server IS NULL OR owner = p_server)
            AND writes = p_writes
          RETURNING id, writes INTO told_by, written;
        ELSE
          UPDATE runs SET writes = writes + 1
          WHERE id = p_run AND run_id = p_run_id AND attempt = p_attempt AND (p_server IS NULL OR owner = p_server)
            AND writes = p_writes AND p_first_event > greatest(expired_events, (
              SELECT max(last_id) FROM run_events WHERE run = runs.id
            ))
          RETURNING id, writes INTO told_by, written;
        END IF;
        IF NOT FOUND THEN RETURN NULL; END IF;
      ELSIF p_run_id IS NOT NULL THEN
        UPDATE runs SET writes = CASE WHEN p_attempt IS NULL THEN writes ELSE writes + 1 END
        WHERE run_id = p_run_id AND session = (SELECT id FROM sessions WHERE session_id = p_session_id)
          AND (p_attempt IS NULL OR attempt = p_attempt) AND (p_server IS NULL OR owner = p_server)
          AND (p_writes IS NULL OR writes = p_writes)
          AND (p_first_event IS NULL OR p_first_event > greatest(expired_events, (
            SELECT max(last_id) FROM run_events WHERE run = runs.id
          )))
        RETURNING id, writes INTO told_by, written;
        IF NOT FOUND THEN RETURN NULL; END IF;
      END IF;
      IF p_key IS NOT NULL THEN
        INSERT INTO checkpoint_rows (key, namespace, id, parent, run, base, data, crc)
        VALUES (p_key, p_namespace, p_id, p_parent, p_of_run, p_base, p_data, p_crc);
      END IF;
      IF p_checkpoint IS NOT NULL THEN
        INSERT INTO checkpoint_writes (checkpoint, task, part, path, run, text, bytes, crc)
        VALUES (p_checkpoint, p_task, p_part, p_path, p_write_of_run, p_write_text, p_write_bytes, p_write_crc);
      END IF;
      IF p_thread IS NOT NULL THEN
        INSERT INTO checkpoint_items (thread, first, count, text, bytes, crc)
        VALUES (p_thread, p_first, p_count, p_item_text, p_item_bytes, p_item_crc);
      END IF;
      IF p_first_event IS NOT NULL THEN
        INSERT INTO run_events (run, first_id, last_id, text, bytes)
        VALUES (told_by, p_first_event, p_last_event, p_event_text, p_event_bytes);
      END IF;
      IF p_rows IS NOT NULL THEN PERFORM millrace_write_rows_v2(told_by, p_rows); END IF;
      RETURN written;
    END $$;
  `,
};
