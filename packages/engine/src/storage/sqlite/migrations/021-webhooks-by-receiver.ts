import type { Migration } from "../migrations.ts";

/** The dates of webhooks with their receivers: a backlog is passed over without reading bodies. */
export const webhooksByReceiver: Migration = {
  id: 21,
  name: "webhooks-by-receiver",
  up(database) {
    database.raw.exec(`
      DROP INDEX webhooks_by_date;
      CREATE INDEX webhooks_by_receiver ON webhooks (due_at, webhook_id, host, owner);
    `);
  },
};
