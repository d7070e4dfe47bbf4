import type { Migration } from "../migrations.ts";

/** What the model calls of each run have used: what is written of it comes with the rows that few writes have. */
export const runUsage: Migration = {
  id: 6,
  sql: String.raw`
    CREATE TABLE run_usage (
      run bigint PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
      requests bigint NOT NULL,
      input_tokens double precision NOT NULL,
      output_tokens double precision NOT NULL,
      cached_tokens double precision NOT NULL,
      cost double precision NOT NULL
    );
    ALTER FUNCTION millrace_write_seldom_v1(jsonb) RENAME TO millrace_write_changes_v1;
    -- What few writes have: what a run has used, states that are written again, and what is removed.
    CREATE FUNCTION millrace_write_seldom_v1(p_rows jsonb) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO run_usage (run, requests, input_tokens, output_tokens, cached_tokens, cost)
      SELECT runs.id, sum(v.requests), sum(v.input_tokens), sum(v.output_tokens), sum(v.cached_tokens), sum(v.cost)
      FROM jsonb_to_recordset(p_rows -> 'run_usage') AS v(
        run_id text, requests bigint, input_tokens float8, output_tokens float8, cached_tokens float8, cost float8
      ) JOIN runs ON runs.run_id = v.run_id GROUP BY runs.id
      ON CONFLICT (run) DO UPDATE SET requests = run_usage.requests + excluded.requests,
        input_tokens = run_usage.input_tokens + excluded.input_tokens,
        output_tokens = run_usage.output_tokens + excluded.output_tokens,
        cached_tokens = run_usage.cached_tokens + excluded.cached_tokens, cost = run_usage.cost + excluded.cost;
      IF p_rows - 'run_usage' <> '{}' THEN PERFORM millrace_write_changes_v1(p_rows); END IF;
    END $$;
  `,
};
