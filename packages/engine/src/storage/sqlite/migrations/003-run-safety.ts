import type { Migration } from "../migrations.ts";

const changes = `
  ALTER TABLE runs ADD COLUMN crashes INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE runs ADD COLUMN parked INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE runs ADD COLUMN idempotency_key TEXT;
  ALTER TABLE runs ADD COLUMN request_hash TEXT;
  ALTER TABLE runs ADD COLUMN expired_events INTEGER NOT NULL DEFAULT -1;
  ALTER TABLE runs ADD COLUMN log_kept INTEGER NOT NULL DEFAULT 1;
  CREATE UNIQUE INDEX runs_by_key ON runs (session, idempotency_key) WHERE idempotency_key IS NOT NULL;
  CREATE INDEX runs_with_log ON runs (updated_at) WHERE log_kept = 1;
  CREATE INDEX runs_temporary ON runs (session) WHERE json_extract(kwargs, '$.temporary');
`;

/**
 * What the engine needs to be safe: how often a run took the process with it (`crashes`) and whether its last attempt
 * was let go of on purpose (`parked`), the key a client submitted it under, and how much of its log is gone.
 */
export const runSafety: Migration = {
  id: 3,
  name: "run-safety",
  up(database) {
    database.raw.exec(changes);
  },
};
