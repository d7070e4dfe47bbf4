import type { Migration } from "../migrations.ts";

/** When runs began to work, and an order of all runs by their creation. */
export const runTimes: Migration = {
  id: 23,
  name: "run-times",
  up(database) {
    database.raw.exec(`
      ALTER TABLE runs ADD COLUMN started_at TEXT;
      CREATE INDEX runs_by_creation ON runs (created_at);
    `);
  },
};
