import type { Migration } from "../migrations.ts";

const tables = `
  CREATE TABLE sessions (
    id INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL UNIQUE,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    status TEXT NOT NULL,
    metadata TEXT NOT NULL,
    config TEXT NOT NULL,
    interrupts TEXT NOT NULL
  );
  CREATE INDEX sessions_created ON sessions (created_at);
  CREATE INDEX sessions_updated ON sessions (updated_at);

  CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL UNIQUE,
    session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    assistant_id TEXT NOT NULL,
    graph_id TEXT NOT NULL,
    status TEXT NOT NULL,
    kwargs TEXT NOT NULL,
    metadata TEXT NOT NULL,
    multitask_strategy TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    event_mark INTEGER NOT NULL,
    error TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
  );
  CREATE INDEX runs_of_session ON runs (session, created_at);
  CREATE INDEX runs_unfinished ON runs (session, status, created_at) WHERE status IN ('pending', 'running');

  CREATE TABLE run_events (
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    first_id INTEGER NOT NULL,
    last_id INTEGER NOT NULL,
    payload BLOB NOT NULL
  );
  CREATE UNIQUE INDEX run_events_of_run ON run_events (run, last_id);

  CREATE TABLE tool_calls (
    session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    tool_call_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    effect TEXT NOT NULL,
    state TEXT NOT NULL,
    result TEXT NOT NULL,
    started_at TEXT NOT NULL,
    finished_at TEXT
  );
  CREATE UNIQUE INDEX tool_calls_of_session ON tool_calls (session, tool_call_id);

  CREATE TABLE tasks (
    id INTEGER PRIMARY KEY,
    task_id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    completed INTEGER NOT NULL,
    area_id TEXT,
    scheduled_dates TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
  );
  CREATE INDEX tasks_of_area ON tasks (area_id);
`;

/**
 * Sessions, runs, their events, the ledger of tool calls and the planner's tasks. Rows point at one another by integer
 * keys, so that a session's 36-character id is stored once. `run_events` keeps one row per written group of events.
 */
export const records: Migration = {
  id: 2,
  name: "records",
  up(database) {
    database.raw.exec(tables);
  },
};
