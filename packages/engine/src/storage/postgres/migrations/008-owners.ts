import type { Migration } from "../migrations.ts";
import { ownerFunctions } from "./008-owner-functions.ts";

/**
 * Whose hand each unfinished run is in (`runs.owner`, a row of `servers`), who has made a thread of checkpoints, and until
 * when a session is being changed by hand.
 */
export const owners: Migration = {
  id: 8,
  sql: `
    ALTER TABLE checkpoint_threads ADD COLUMN maker bigint;
    ALTER TABLE sessions ADD COLUMN turn text, ADD COLUMN turn_until timestamptz;
    ${ownerFunctions}
  `,
};
