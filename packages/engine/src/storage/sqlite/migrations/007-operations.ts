import type { Migration } from "../migrations.ts";

const changes = `
  CREATE TABLE operations (
    id INTEGER PRIMARY KEY,
    operation_id TEXT NOT NULL UNIQUE,
    session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    run_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    tool_call_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    status TEXT NOT NULL,
    change TEXT NOT NULL,
    lines_added INTEGER,
    lines_removed INTEGER,
    first_line INTEGER,
    is_kept INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    UNIQUE (session, tool_call_id)
  );

  CREATE TABLE operation_contents (
    operation INTEGER NOT NULL REFERENCES operations (id) ON DELETE CASCADE,
    hash TEXT NOT NULL,
    bytes BLOB NOT NULL,
    UNIQUE (operation, hash)
  );
`;

/** What tools changed in the workspace, with the bytes that undo it. */
export const operations: Migration = {
  id: 7,
  name: "operations",
  up(database) {
    database.raw.exec(changes);
  },
};
