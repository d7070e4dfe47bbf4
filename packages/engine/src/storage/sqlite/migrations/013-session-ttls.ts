import type { Migration } from "../migrations.ts";

const changes = `
  CREATE TABLE session_ttls (
    session INTEGER PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    minutes REAL NOT NULL,
    strategy TEXT NOT NULL,
    expires_at TEXT NOT NULL
  );
  CREATE INDEX session_ttls_expiring ON session_ttls (expires_at);
`;

/** How long untouched sessions are kept. */
export const sessionTtls: Migration = {
  id: 13,
  name: "session-ttls",
  up(database) {
    database.raw.exec(changes);
  },
};
