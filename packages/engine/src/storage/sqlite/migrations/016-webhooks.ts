import type { Migration } from "../migrations.ts";

/** What the ends of runs have left to tell. It outlives the run and its session. */
export const webhooks: Migration = {
  id: 16,
  name: "webhooks",
  up(database) {
    database.raw.exec(`
      CREATE TABLE webhooks (
        webhook_id INTEGER PRIMARY KEY,
        run_id TEXT NOT NULL,
        url TEXT NOT NULL,
        body TEXT NOT NULL,
        attempts INTEGER NOT NULL,
        due_at TEXT NOT NULL
      );
      CREATE INDEX webhooks_by_date ON webhooks (due_at);
    `);
  },
};
