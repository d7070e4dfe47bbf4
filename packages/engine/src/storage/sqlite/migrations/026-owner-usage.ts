import type { Migration } from "../migrations.ts";

/** What the model calls of each owner have used, by day. */
export const ownerUsage: Migration = {
  id: 26,
  name: "owner-usage",
  up(database) {
    database.raw.exec(`
      CREATE TABLE owner_usage (
        owner TEXT NOT NULL,
        day TEXT NOT NULL,
        requests INTEGER NOT NULL,
        input_tokens REAL NOT NULL,
        output_tokens REAL NOT NULL,
        cached_tokens REAL NOT NULL,
        cost REAL NOT NULL,
        PRIMARY KEY (owner, day)
      ) WITHOUT ROWID;
      CREATE INDEX owner_usage_by_day ON owner_usage (day);
    `);
  },
};
