import type { Migration } from "../migrations.ts";

const changes = `
  CREATE TABLE approvals (
    id INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    interrupt_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    value TEXT NOT NULL,
    state TEXT NOT NULL,
    decision TEXT NOT NULL,
    decided_by TEXT,
    run_id TEXT,
    asked_at TEXT NOT NULL,
    decided_at TEXT,
    UNIQUE (session, interrupt_id)
  );
  CREATE INDEX approvals_pending ON approvals (session) WHERE state = 'pending';
  CREATE INDEX approvals_by_age ON approvals (asked_at) WHERE state = 'pending';

  CREATE TABLE grants (
    id INTEGER PRIMARY KEY,
    grant_id TEXT NOT NULL UNIQUE,
    session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    tool TEXT NOT NULL,
    path_pattern TEXT NOT NULL,
    interrupt_id TEXT NOT NULL,
    created_at TEXT NOT NULL
  );
  CREATE INDEX grants_of_session ON grants (session);

  INSERT OR IGNORE INTO approvals (session, interrupt_id, task_id, value, state, decision, asked_at)
  SELECT sessions.id, asked.value ->> '$.id', tasks.key, coalesce(asked.value -> '$.value', 'null'), 'pending', 'null',
    sessions.updated_at
  FROM sessions, json_each(sessions.interrupts) AS tasks, json_each(tasks.value) AS asked;
`;

/** Questions to people with their answers, and remembered yeses. What waits already when this comes is taken over. */
export const approvals: Migration = {
  id: 4,
  name: "approvals",
  up(database) {
    database.raw.exec(changes);
  },
};
