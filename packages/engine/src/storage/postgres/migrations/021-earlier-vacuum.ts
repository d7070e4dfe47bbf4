import type { Migration } from "../migrations.ts";

/**
 * The tables that grow with each step of a run are cleared away when a fortieth is dead, half of what `earlyVacuum` waits for:
 * the file then takes in what one round of retention removes before the next one comes.
 */
export const earlierVacuum: Migration = {
  id: 21,
  oldest: 9,
  sql: ["checkpoint_runs", "checkpoint_rows", "checkpoint_writes", "checkpoint_items", "run_events"]
    .map((table) => `ALTER TABLE ${table} SET (autovacuum_vacuum_scale_factor = 0.025);`)
    .join("\n"),
};
