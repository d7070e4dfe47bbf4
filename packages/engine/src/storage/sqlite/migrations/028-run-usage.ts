import type { Migration } from "../migrations.ts";

/** What the model calls of each run have used. */
export const runUsage: Migration = {
  id: 28,
  name: "run-usage",
  up(database) {
    database.raw.exec(`
      CREATE TABLE run_usage (
        run INTEGER PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
        requests INTEGER NOT NULL,
        input_tokens REAL NOT NULL,
        output_tokens REAL NOT NULL,
        cached_tokens REAL NOT NULL,
        cost REAL NOT NULL
      );
    `);
  },
};
