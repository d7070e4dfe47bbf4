import type { Migration } from "../migrations.ts";

/** Why somebody has stopped a run, in their own words. */
export const cancelReasons: Migration = {
  id: 20,
  name: "cancel-reasons",
  up(database) {
    database.raw.exec("ALTER TABLE runs ADD COLUMN cancel_reason TEXT");
  },
};
