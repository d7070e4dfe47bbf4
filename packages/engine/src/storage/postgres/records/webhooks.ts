import { z } from "zod";
import type { BusyReceivers, WebhookStore } from "../../record-stores.ts";
import { json, readRow, readRows, WebhookRow } from "../../rows.ts";
import { later, type Statements, type Values } from "../database/database.ts";

const DueRow = z.object({ due_at: z.string() });
/** An address is a JSON text: PostgreSQL takes no NUL and no half of a surrogate pair. */
const StoredWebhook = WebhookRow.extend({ url: json(WebhookRow.shape.url) });

/** Answered by the index `webhooks_by_receiver` alone: a long body is not read for it. */
const isFree = `webhook_id <> ALL ($1::bigint[]) AND host <> ALL ($2::text[])
  AND (owner IS NULL OR owner <> ALL ($3::text[]))`;

const nobody: BusyReceivers = { webhooks: [], hosts: [], owners: [] };

function valuesOf({ webhooks, hosts, owners }: BusyReceivers): Values {
  return [webhooks, hosts, owners];
}

/** What the ends of runs have left to tell, in PostgreSQL. */
export function createWebhookStore(database: Statements): WebhookStore {
  return {
    async due(now, limit, busy = nobody) {
      const sql = `SELECT * FROM webhooks WHERE webhook_id IN (
          SELECT webhook_id FROM webhooks WHERE due_at <= $4 AND ${isFree} ORDER BY due_at, webhook_id LIMIT $5
        ) ORDER BY due_at, webhook_id`;
      return readRows(StoredWebhook, "webhooks", await database.rows(sql, [...valuesOf(busy), now, limit]));
    },

    async next(busy = nobody) {
      const sql = `SELECT due_at FROM webhooks WHERE ${isFree} ORDER BY due_at LIMIT 1`;
      return readRow(DueRow, "webhooks", (await database.rows(sql, valuesOf(busy)))[0])?.due_at;
    },

    async postpone(webhookId, dueAt) {
      const sql = `UPDATE webhooks SET attempts = attempts + 1, due_at = $2 WHERE webhook_id = $1 RETURNING ${later}`;
      await database.rows(sql, [webhookId, dueAt]);
    },

    async remove(webhookId) {
      await database.rows(`DELETE FROM webhooks WHERE webhook_id = $1 RETURNING ${later}`, [webhookId]);
    },
  };
}
