import type { Migration } from "../migrations.ts";

/** How the model calls of each owner went, by day and model. */
export const modelUsage: Migration = {
  id: 29,
  name: "model-usage",
  up(database) {
    database.raw.exec(`
      CREATE TABLE model_usage (
        owner TEXT NOT NULL,
        day TEXT NOT NULL,
        model TEXT NOT NULL,
        requests INTEGER NOT NULL,
        failed INTEGER NOT NULL,
        input_tokens REAL NOT NULL,
        output_tokens REAL NOT NULL,
        cached_tokens REAL NOT NULL,
        cost REAL NOT NULL,
        duration_ms REAL NOT NULL,
        first_token_ms REAL NOT NULL,
        first_tokens INTEGER NOT NULL,
        PRIMARY KEY (owner, day, model)
      ) WITHOUT ROWID;
      CREATE INDEX model_usage_by_day ON model_usage (day);
    `);
  },
};
