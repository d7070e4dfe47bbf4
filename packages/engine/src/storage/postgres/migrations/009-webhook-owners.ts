import type { Migration } from "../migrations.ts";

/** Which server has a webhook: what one that is gone had is free at once. */
export const webhookOwners: Migration = {
  id: 9,
  sql: `
    ALTER TABLE webhooks ADD COLUMN taken_by bigint;
    DROP INDEX webhooks_by_receiver;
    CREATE INDEX webhooks_by_receiver ON webhooks (due_at, webhook_id, host, owner, taken_until, taken_by);
  `,
};
