/**
 * What the stream of an attempt writes, and checkpointers without one. The rows have a function of their own, which the end of
 * a run calls too. A change of one of these is a new version beside the old one, which servers that are still running call.
 */
export const writeFunctions = String.raw`
  -- Writes lists of rows by the names below, and the events of a run.
  CREATE FUNCTION millrace_write_rows_v1(p_run bigint, p_rows jsonb) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    IF p_rows ? 'threads' THEN
      INSERT INTO checkpoint_threads (key, thread_id)
      SELECT key, thread_id FROM jsonb_populate_recordset(NULL::checkpoint_threads, p_rows -> 'threads');
    END IF;
    IF p_rows ? 'namespaces' THEN
      INSERT INTO checkpoint_namespaces (key, thread, ns)
      SELECT key, thread, ns FROM jsonb_populate_recordset(NULL::checkpoint_namespaces, p_rows -> 'namespaces');
    END IF;
    IF p_rows ? 'runs' THEN
      INSERT INTO checkpoint_runs (key, thread, run_id)
      SELECT key, thread, run_id FROM jsonb_populate_recordset(NULL::checkpoint_runs, p_rows -> 'runs');
    END IF;
    IF p_rows ? 'checkpoints' THEN
      INSERT INTO checkpoint_rows (key, namespace, id, parent, run, base, data, crc)
      SELECT key, namespace, id, parent, run, base, data, crc
      FROM jsonb_populate_recordset(NULL::checkpoint_rows, p_rows -> 'checkpoints');
    END IF;
    IF p_rows ? 'blobs' THEN
      INSERT INTO checkpoint_blobs (key, thread, text, bytes, crc)
      SELECT key, thread, text, bytes, crc FROM jsonb_populate_recordset(NULL::checkpoint_blobs, p_rows -> 'blobs');
    END IF;
    IF p_rows ? 'removed_writes' THEN
      DELETE FROM checkpoint_writes AS t
      USING jsonb_populate_recordset(NULL::checkpoint_writes, p_rows -> 'removed_writes') AS v
      WHERE t.checkpoint = v.checkpoint AND t.task = v.task AND t.part = v.part;
    END IF;
    IF p_rows ? 'writes' THEN
      INSERT INTO checkpoint_writes (checkpoint, task, part, path, run, text, bytes, crc)
      SELECT checkpoint, task, part, path, run, text, bytes, crc
      FROM jsonb_populate_recordset(NULL::checkpoint_writes, p_rows -> 'writes');
    END IF;
    IF p_rows ? 'items' THEN
      INSERT INTO checkpoint_items (thread, first, count, text, bytes, crc)
      SELECT thread, first, count, text, bytes, crc
      FROM jsonb_populate_recordset(NULL::checkpoint_items, p_rows -> 'items');
    END IF;
    IF p_rows ? 'changed_items' THEN
      UPDATE checkpoint_items AS t SET count = v.count, text = v.text, bytes = v.bytes, crc = v.crc
      FROM jsonb_populate_recordset(NULL::checkpoint_items, p_rows -> 'changed_items') AS v
      WHERE t.thread = v.thread AND t.first = v.first;
    END IF;
    IF p_rows ? 'events' THEN
      INSERT INTO run_events (run, first_id, last_id, text, bytes)
      SELECT p_run, first_id, last_id, text, bytes FROM jsonb_populate_record(NULL::run_events, p_rows -> 'events');
    END IF;
    IF p_rows ? 'usage' THEN
      INSERT INTO owner_usage (owner, day, requests, input_tokens, output_tokens, cached_tokens, cost)
      SELECT owner, day, sum(requests), sum(input_tokens), sum(output_tokens), sum(cached_tokens), sum(cost)
      FROM jsonb_populate_recordset(NULL::owner_usage, p_rows -> 'usage') GROUP BY owner, day
      ON CONFLICT (owner, day) DO UPDATE SET requests = owner_usage.requests + excluded.requests,
        input_tokens = owner_usage.input_tokens + excluded.input_tokens,
        output_tokens = owner_usage.output_tokens + excluded.output_tokens,
        cached_tokens = owner_usage.cached_tokens + excluded.cached_tokens, cost = owner_usage.cost + excluded.cost;
    END IF;
    IF p_rows ? 'seldom' THEN PERFORM millrace_write_seldom_v1(p_rows -> 'seldom'); END IF;
  END $$;

  -- Writes p_rows where the run is still the attempt's and stands at p_writes; of no run, at once. Gives how many writes of
  -- the attempt there are then; NULL where it was refused and nothing is written.
  CREATE FUNCTION millrace_write_v2(
    p_run_id text, p_session_id text, p_attempt int, p_writes bigint, p_rows jsonb
  ) RETURNS bigint LANGUAGE plpgsql AS $$
  DECLARE
    written bigint := 0;
    told_by bigint;
  BEGIN
    IF p_run_id IS NOT NULL THEN
      UPDATE runs SET writes = CASE WHEN p_attempt IS NULL THEN writes ELSE writes + 1 END
      WHERE run_id = p_run_id AND session = (SELECT id FROM sessions WHERE session_id = p_session_id)
        AND (p_attempt IS NULL OR attempt = p_attempt) AND (p_writes IS NULL OR writes = p_writes)
        AND (NOT p_rows ? 'events' OR (p_rows -> 'events' ->> 'first_id')::int > greatest(expired_events, (
          SELECT max(last_id) FROM run_events WHERE run = runs.id
        )))
      RETURNING id, writes INTO told_by, written;
      IF NOT FOUND THEN RETURN NULL; END IF;
    END IF;
    PERFORM millrace_write_rows_v1(told_by, p_rows);
    RETURN written;
  END $$;
`;
