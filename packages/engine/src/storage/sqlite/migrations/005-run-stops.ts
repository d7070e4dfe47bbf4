import type { Migration } from "../migrations.ts";

const changes = `
  ALTER TABLE runs ADD COLUMN stop_requested TEXT;
  CREATE INDEX runs_rolled_back ON runs (id) WHERE stop_requested = 'rollback';
`;

/** What was asked of a run, so that a stop outlives the process that took it. */
export const runStops: Migration = {
  id: 5,
  name: "run-stops",
  up(database) {
    database.raw.exec(changes);
  },
};
