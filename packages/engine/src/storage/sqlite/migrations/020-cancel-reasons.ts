import type { Migration } from "../migrations.ts";

/** Why a client has stopped a run, in its own words. */
export const cancelReasons: Migration = {
  id: 20,
  name: "cancel-reasons",
  up(database) {
    database.raw.exec("ALTER TABLE runs ADD COLUMN cancel_reason TEXT");
  },
};
