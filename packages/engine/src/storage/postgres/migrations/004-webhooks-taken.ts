import type { Migration } from "../migrations.ts";

/** Until when a server that tells a webhook has it for itself. */
export const webhooksTaken: Migration = {
  id: 4,
  sql: `
    ALTER TABLE webhooks ADD COLUMN taken_until timestamptz;
    DROP INDEX webhooks_by_receiver;
    CREATE INDEX webhooks_by_receiver ON webhooks (due_at, webhook_id, host, owner, taken_until);
    CREATE INDEX webhooks_taken ON webhooks (taken_until) WHERE taken_until IS NOT NULL;
  `,
};
