import type { Migration } from "../migrations.ts";

/** How the model calls of each owner went, by day and model: it comes with the rows that few writes have. */
export const modelUsage: Migration = {
  id: 13,
  oldest: 9,
  sql: String.raw`
    CREATE TABLE model_usage (
      owner text NOT NULL,
      day text NOT NULL,
      model text NOT NULL,
      requests bigint NOT NULL,
      failed bigint NOT NULL,
      input_tokens double precision NOT NULL,
      output_tokens double precision NOT NULL,
      cached_tokens double precision NOT NULL,
      cost double precision NOT NULL,
      duration_ms double precision NOT NULL,
      first_token_ms double precision NOT NULL,
      first_tokens bigint NOT NULL,
      PRIMARY KEY (owner, day, model)
    );
    CREATE INDEX model_usage_by_day ON model_usage (day);
    ALTER FUNCTION millrace_write_seldom_v1(jsonb) RENAME TO millrace_write_used_v1;
    -- What few writes have: how model calls went, and all that was such before.
    CREATE FUNCTION millrace_write_seldom_v1(p_rows jsonb) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      IF p_rows ? 'model_usage' THEN
        INSERT INTO model_usage AS t (owner, day, model, requests, failed, input_tokens, output_tokens, cached_tokens, cost,
          duration_ms, first_token_ms, first_tokens)
        SELECT owner, day, model, sum(requests), sum(failed), sum(input_tokens), sum(output_tokens), sum(cached_tokens),
          sum(cost), sum(duration_ms), sum(first_token_ms), sum(first_tokens)
        FROM jsonb_populate_recordset(NULL::model_usage, p_rows -> 'model_usage') GROUP BY owner, day, model
        ON CONFLICT (owner, day, model) DO UPDATE SET requests = t.requests + excluded.requests,
          failed = t.failed + excluded.failed, input_tokens = t.input_tokens + excluded.input_tokens,
          output_tokens = t.output_tokens + excluded.output_tokens,
          cached_tokens = t.cached_tokens + excluded.cached_tokens, cost = t.cost + excluded.cost,
          duration_ms = t.duration_ms + excluded.duration_ms, first_token_ms = t.first_token_ms + excluded.first_token_ms,
          first_tokens = t.first_tokens + excluded.first_tokens;
      END IF;
      IF p_rows - 'model_usage' <> '{}' THEN PERFORM millrace_write_used_v1(p_rows - 'model_usage'); END IF;
    END $$;
  `,
};
