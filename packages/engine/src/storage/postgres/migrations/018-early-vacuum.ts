import type { Migration } from "../migrations.ts";

/**
 * Rows that retention removes are cleared away when a twentieth of a table is dead, where PostgreSQL waits for a fifth: new
 * rows take their place before the files grow. Less than a fiftieth would not do: vacuum then leaves the indexes as they are.
 */
export const earlyVacuum: Migration = {
  id: 18,
  oldest: 9,
  sql: [
    "sessions",
    "checkpoint_threads",
    "checkpoint_namespaces",
    "checkpoint_runs",
    "checkpoint_rows",
    "checkpoint_writes",
    "checkpoint_blobs",
    "checkpoint_items",
    "run_events",
    "run_usage",
    "model_requests",
    "tool_calls",
    "operations",
  ]
    .map((table) => `ALTER TABLE ${table} SET (autovacuum_vacuum_scale_factor = 0.05);`)
    .join("\n"),
};
