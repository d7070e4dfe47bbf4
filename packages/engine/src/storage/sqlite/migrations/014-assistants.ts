import type { Migration } from "../migrations.ts";

/** Assistants that users make, and every version of them; `version` is the one in use. */
export const assistants: Migration = {
  id: 14,
  name: "assistants",
  up(database) {
    database.raw.exec(`
      CREATE TABLE assistants (
        id INTEGER PRIMARY KEY,
        assistant_id TEXT NOT NULL UNIQUE,
        owner TEXT,
        is_system INTEGER NOT NULL,
        version INTEGER NOT NULL,
        created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL
      );
      CREATE TABLE assistant_versions (
        assistant INTEGER NOT NULL REFERENCES assistants ON DELETE CASCADE,
        version INTEGER NOT NULL,
        graph_id TEXT NOT NULL,
        name TEXT NOT NULL,
        description TEXT,
        config TEXT NOT NULL,
        context TEXT NOT NULL,
        metadata TEXT NOT NULL,
        created_at TEXT NOT NULL,
        PRIMARY KEY (assistant, version)
      ) WITHOUT ROWID;
    `);
  },
};
