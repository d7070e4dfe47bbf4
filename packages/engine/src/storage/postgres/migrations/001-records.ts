import type { Migration } from "../migrations.ts";
import { runFunctions } from "./001-run-functions.ts";

const sessions = `
  CREATE TABLE sessions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session_id text COLLATE "C" NOT NULL UNIQUE,
    owner text COLLATE "C",
    status text COLLATE "C" NOT NULL,
    metadata text NOT NULL,
    config text NOT NULL,
    interrupts text NOT NULL,
    created_at text COLLATE "C" NOT NULL,
    updated_at text COLLATE "C" NOT NULL
  ) WITH (fillfactor = 85);
  -- Neither the status nor the date of the last change has an index: a run that begins or ends rewrites none.
  CREATE INDEX sessions_created ON sessions (created_at, id);
  CREATE INDEX sessions_of_owner ON sessions (owner, created_at);
  CREATE INDEX sessions_by_metadata ON sessions USING gin (millrace_json_v1(metadata) jsonb_path_ops);

  CREATE TABLE session_ttls (
    session bigint PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    minutes double precision NOT NULL,
    strategy text NOT NULL,
    expires_at text COLLATE "C" NOT NULL
  );
  CREATE INDEX session_ttls_expiring ON session_ttls (expires_at);

  CREATE TABLE namespaces (
    owner text COLLATE "C" NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    session bigint NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    updated_at text COLLATE "C" NOT NULL,
    PRIMARY KEY (owner, namespace)
  );
  CREATE INDEX namespaces_by_session ON namespaces (session);
`;

/** `owner`: the server that works on a run; `writes`: how many writes of its attempt's stream there were. */
const runs = `
  CREATE TABLE runs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id text COLLATE "C" NOT NULL UNIQUE,
    session bigint NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    assistant_id text COLLATE "C" NOT NULL,
    graph_id text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    kwargs text NOT NULL,
    metadata text NOT NULL,
    multitask_strategy text NOT NULL,
    is_temporary boolean NOT NULL,
    idempotency_key text COLLATE "C",
    request_hash text,
    owner bigint,
    attempt int NOT NULL DEFAULT 0,
    writes bigint NOT NULL DEFAULT 0,
    crashes int NOT NULL DEFAULT 0,
    parked boolean NOT NULL DEFAULT false,
    event_mark int NOT NULL DEFAULT 0,
    expired_events int NOT NULL DEFAULT -1,
    log_kept boolean NOT NULL DEFAULT true,
    stop_requested text,
    cancel_reason text,
    error text NOT NULL,
    created_at text COLLATE "C" NOT NULL,
    updated_at text COLLATE "C" NOT NULL,
    started_at text COLLATE "C"
  ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
  CREATE UNIQUE INDEX runs_one_running ON runs (session) WHERE status = 'running';
  CREATE INDEX runs_of_session ON runs (session, created_at);
  CREATE INDEX runs_unfinished ON runs (session, created_at) WHERE status IN ('pending', 'running');
  CREATE UNIQUE INDEX runs_by_key ON runs (session, idempotency_key) WHERE idempotency_key IS NOT NULL;
  CREATE INDEX runs_with_log ON runs (updated_at) WHERE log_kept;
  CREATE INDEX runs_temporary ON runs (session) WHERE is_temporary;
  CREATE INDEX runs_rolled_back ON runs (id) WHERE stop_requested = 'rollback';
  CREATE INDEX runs_by_creation ON runs (created_at);

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

  CREATE TABLE operations (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    operation_id text COLLATE "C" NOT NULL UNIQUE,
    session bigint NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    run_id text COLLATE "C" NOT NULL,
    attempt int,
    message_id text COLLATE "C" NOT NULL,
    tool_call_id text COLLATE "C" NOT NULL,
    tool text NOT NULL,
    status text NOT NULL,
    change text NOT NULL,
    lines_added int,
    lines_removed int,
    first_line int,
    is_kept smallint NOT NULL,
    created_at text COLLATE "C" NOT NULL,
    updated_at text COLLATE "C" NOT NULL,
    UNIQUE (session, tool_call_id)
  );
  CREATE INDEX operations_kept ON operations (session, id) WHERE is_kept = 1;
  CREATE TABLE operation_contents (
    operation bigint NOT NULL REFERENCES operations (id) ON DELETE CASCADE,
    hash text COLLATE "C" NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (operation, hash)
  );
`;

/** A pattern of a path is kept as a JSON text: people write it, and PostgreSQL takes not every character. */
const approvals = `
  CREATE TABLE approvals (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session bigint NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    interrupt_id text COLLATE "C" NOT NULL,
    task_id text COLLATE "C" NOT NULL,
    value text NOT NULL,
    state text NOT NULL,
    decision text NOT NULL,
    decided_by text,
    run_id text COLLATE "C",
    asked_at text COLLATE "C" NOT NULL,
    decided_at text COLLATE "C",
    UNIQUE (session, interrupt_id)
  );
  CREATE INDEX approvals_pending ON approvals (session) WHERE state = 'pending';
  CREATE INDEX approvals_by_age ON approvals (asked_at) WHERE state = 'pending';

  CREATE TABLE grants (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    grant_id text COLLATE "C" NOT NULL UNIQUE,
    session bigint NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    tool text NOT NULL,
    path_pattern text NOT NULL,
    interrupt_id text COLLATE "C" NOT NULL,
    created_at text COLLATE "C" NOT NULL
  );
  CREATE INDEX grants_of_session ON grants (session);
`;

/** A webhook outlives the run and its session. */
const others = `
  CREATE TABLE crons (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    cron_id text COLLATE "C" NOT NULL UNIQUE,
    owner text COLLATE "C",
    assistant_id text COLLATE "C" NOT NULL,
    session bigint REFERENCES sessions (id) ON DELETE CASCADE,
    schedule text NOT NULL,
    timezone text,
    end_time text,
    payload text NOT NULL,
    metadata text NOT NULL,
    enabled smallint NOT NULL,
    on_run_completed text NOT NULL,
    next_run_date text COLLATE "C",
    created_at text COLLATE "C" NOT NULL,
    updated_at text COLLATE "C" NOT NULL
  );
  CREATE INDEX crons_of_session ON crons (session) WHERE session IS NOT NULL;
  CREATE INDEX crons_due ON crons (next_run_date) WHERE next_run_date IS NOT NULL;

  CREATE TABLE webhooks (
    webhook_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id text COLLATE "C" NOT NULL,
    url text NOT NULL,
    host text COLLATE "C" NOT NULL,
    owner text COLLATE "C",
    body text NOT NULL,
    attempts int NOT NULL,
    due_at text COLLATE "C" NOT NULL
  );
  CREATE INDEX webhooks_by_receiver ON webhooks (due_at, webhook_id, host, owner);

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
  CREATE INDEX tasks_of_owner ON tasks (owner, created_at);
  CREATE INDEX tasks_of_area ON tasks (area_id);
`;

/**
 * JSON to search in. `jsonb` takes neither NUL nor half of a surrogate pair, so escapes stay as they are written: a
 * backslash of a text becomes two, and the one of an escape a character. Both sides of a comparison go through it.
 */
const searchedJson = String.raw`
  CREATE FUNCTION millrace_json_v1(value text) RETURNS jsonb LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT replace(replace(replace(value, '\\', chr(1)), '\u', '\\u'), chr(1), '\\\\')::jsonb
  $$;
`;

/**
 * Sessions, runs and what hangs on them. Dates are ISO texts and JSON is text, byte for byte as SQLite has them; texts that
 * are ordered or compared are so by their bytes.
 */
export const records: Migration = {
  id: 1,
  sql: [searchedJson, sessions, runs, approvals, others, runFunctions].join("\n"),
};
