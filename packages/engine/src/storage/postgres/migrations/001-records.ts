import type { Migration } from "../migrations.ts";

/**
 * Sessions, runs and what hangs on them. Dates are ISO texts and JSON is text, byte for byte as SQLite has them; texts that
 * are ordered or compared are so by their bytes.
 */
export const records: Migration = {
  id: 1,
  sql: `
    CREATE TABLE sessions (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      session_id text COLLATE "C" NOT NULL UNIQUE,
      owner text COLLATE "C",
      status text NOT NULL,
      metadata text NOT NULL,
      config text NOT NULL,
      interrupts text NOT NULL,
      created_at text COLLATE "C" NOT NULL,
      updated_at text COLLATE "C" NOT NULL
    );
    CREATE TABLE runs (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      run_id text COLLATE "C" NOT NULL UNIQUE,
      session bigint NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
      status text NOT NULL,
      attempt int NOT NULL DEFAULT 0,
      owner bigint,
      writes bigint NOT NULL DEFAULT 0
    ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
    CREATE UNIQUE INDEX runs_one_running ON runs (session) WHERE status = 'running';
    CREATE TABLE namespaces (
      owner text COLLATE "C" NOT NULL,
      namespace text COLLATE "C" NOT NULL,
      session bigint NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
      updated_at text COLLATE "C" NOT NULL,
      PRIMARY KEY (owner, namespace)
    );
    CREATE INDEX namespaces_by_session ON namespaces (session);
    CREATE TABLE tool_calls (
      id bigint GENERATED ALWAYS AS IDENTITY,
      session bigint NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
      tool_call_id text COLLATE "C" NOT NULL,
      run_id text COLLATE "C" NOT NULL,
      attempt int,
      tool text NOT NULL,
      effect text NOT NULL,
      state text NOT NULL,
      result text NOT NULL,
      started_at text COLLATE "C" NOT NULL,
      finished_at text COLLATE "C",
      PRIMARY KEY (session, tool_call_id)
    );
    CREATE TABLE tasks (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      task_id text COLLATE "C" NOT NULL UNIQUE,
      owner text COLLATE "C",
      title text NOT NULL,
      completed smallint NOT NULL,
      area_id text COLLATE "C",
      scheduled_dates text NOT NULL,
      created_at text COLLATE "C" NOT NULL,
      updated_at text COLLATE "C" NOT NULL
    );
  `,
};
