import { z } from "zod";
import type { BusyReceivers, WebhookStore } from "../../record-stores.ts";
import { json, parseRow, readRow, WebhookRow } from "../../rows.ts";
import { asyncCommit, type Statements, type Values } from "../database/database.ts";

const NextRow = z.object({ due_at: z.string().nullable(), taken_until: z.date().nullable() });
/** An address is a JSON text: PostgreSQL takes no NUL and no half of a surrogate pair. */
const StoredWebhook = WebhookRow.extend({ url: json(WebhookRow.shape.url) });

/** Longer than a server tells one, or waits after a failure. */
const lease = "90 seconds";

/** In no server's hand, or in that of one that is gone. Answered by the index `webhooks_by_receiver` alone: a long body is not read for it. */
const isFree = `(taken_until IS NULL OR taken_until < now() OR NOT EXISTS (SELECT FROM servers WHERE id = taken_by)) AND host <> ALL ($1::text[])
  AND (owner IS NULL OR owner <> ALL ($2::text[]))`;

const noBusyReceivers: BusyReceivers = { hosts: [], owners: [] };

const valuesOf = ({ hosts, owners }: BusyReceivers): Values => [hosts, owners];

/** What the ends of runs have left to tell, in PostgreSQL. `server`: the number of this server, which has what it takes. */
export function createWebhookStore(database: Statements, server: () => number): WebhookStore {
  return {
    async claimDue(now, busy = noBusyReceivers) {
      const sql = `UPDATE webhooks SET taken_until = now() + interval '${lease}', taken_by = $4 WHERE webhook_id = (
          SELECT webhook_id FROM webhooks WHERE due_at <= $3 AND ${isFree}
          ORDER BY due_at, webhook_id LIMIT 1 FOR UPDATE SKIP LOCKED
        ) RETURNING *, ${asyncCommit}`;
      return readRow(StoredWebhook, "webhooks", (await database.rows(sql, [...valuesOf(busy), now, server()]))[0]);
    },

    async nextDueAt(busy = noBusyReceivers) {
      const sql = `SELECT (SELECT due_at FROM webhooks WHERE ${isFree} ORDER BY due_at LIMIT 1) AS due_at,
        (SELECT min(taken_until) FROM webhooks WHERE taken_until >= now()) AS taken_until`;
      const [row] = await database.read(sql, valuesOf(busy));
      const { due_at, taken_until } = parseRow(NextRow, "webhooks", row);
      return [due_at, taken_until?.toISOString()].flatMap((date) => date ?? []).toSorted()[0];
    },

    async release(webhookId) {
      const sql = `UPDATE webhooks SET taken_until = NULL WHERE webhook_id = $1 RETURNING ${asyncCommit}`;
      await database.rows(sql, [webhookId]);
    },

    async postpone(webhookId, dueAt) {
      const sql = `UPDATE webhooks SET attempts = attempts + 1, due_at = $2, taken_until = NULL
        WHERE webhook_id = $1 RETURNING ${asyncCommit}`;
      await database.rows(sql, [webhookId, dueAt]);
    },

    async remove(webhookId) {
      await database.rows(`DELETE FROM webhooks WHERE webhook_id = $1 RETURNING ${asyncCommit}`, [webhookId]);
    },
  };
}
