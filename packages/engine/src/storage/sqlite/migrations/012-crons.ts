import type { Migration } from "../migrations.ts";

const changes = `
  CREATE TABLE crons (
    id INTEGER PRIMARY KEY,
    cron_id TEXT NOT NULL UNIQUE,
    owner TEXT,
    assistant_id TEXT NOT NULL,
    session INTEGER REFERENCES sessions (id) ON DELETE CASCADE,
    schedule TEXT NOT NULL,
    timezone TEXT,
    end_time TEXT,
    payload TEXT NOT NULL,
    metadata TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    on_run_completed TEXT NOT NULL,
    next_run_date TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
  );
  CREATE INDEX crons_of_session ON crons (session) WHERE session IS NOT NULL;
  CREATE INDEX crons_due ON crons (next_run_date) WHERE next_run_date IS NOT NULL;
`;

/** Runs that the clock starts. */
export const crons: Migration = {
  id: 12,
  name: "crons",
  up(database) {
    database.raw.exec(changes);
  },
};
