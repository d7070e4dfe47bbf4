import { z } from "zod";
import type { Run } from "../../records.ts";
import type { RunOutcome } from "../../storage.ts";
import type { BusyReceivers, WebhookStore } from "../../webhooks.ts";
import type { Database } from "../database/database.ts";
import type { GroupCommit } from "../database/durable.ts";
import { readRow, readRows } from "../database/rows.ts";

const WebhookRow = z.object({
  webhook_id: z.number().int(),
  run_id: z.string(),
  url: z.string(),
  host: z.string(),
  owner: z.string().nullable(),
  body: z.string(),
  attempts: z.number().int(),
  due_at: z.string(),
});
const DueRow = z.object({ due_at: z.string() });

/** Writes what is to be told of a run's end; in the transaction of that end. */
export function insertWebhook(
  database: Database,
  { run_id, session_id }: Pick<Run, "run_id" | "session_id">,
  webhook: NonNullable<RunOutcome["webhook"]>,
): void {
  const sql = `INSERT INTO webhooks (run_id, url, host, owner, body, attempts, due_at)
    VALUES (@run_id, @url, @host, (SELECT owner FROM sessions WHERE session_id = @session_id), @body, 0, @due_at)`;
  const { url, host, body } = webhook;
  database.prepare(sql).run({ run_id, session_id, url, host, body, due_at: new Date().toISOString() });
}

/** Answered by the index `webhooks_by_receiver` alone: in a row, a long body stands before all of this. */
const isFree = `webhook_id NOT IN (SELECT value FROM json_each(@webhooks))
  AND host NOT IN (SELECT value FROM json_each(@hosts))
  AND (owner IS NULL OR owner NOT IN (SELECT value FROM json_each(@owners)))`;

function namesOf({ webhooks, hosts, owners }: BusyReceivers): Record<keyof BusyReceivers, string> {
  return { webhooks: JSON.stringify(webhooks), hosts: JSON.stringify(hosts), owners: JSON.stringify(owners) };
}

const nobody: BusyReceivers = { webhooks: [], hosts: [], owners: [] };

/** What the ends of runs have left to tell, in SQLite. */
export function createWebhookStore(database: Database, commits: GroupCommit): WebhookStore {
  return {
    due: async (now, limit, busy = nobody) =>
      database.read(() =>
        readRows(
          WebhookRow,
          "webhooks",
          database
            .prepare(
              `SELECT * FROM webhooks WHERE webhook_id IN (
                 SELECT webhook_id FROM webhooks WHERE due_at <= @now AND ${isFree}
                 ORDER BY due_at, webhook_id LIMIT @limit
               ) ORDER BY due_at, webhook_id`,
            )
            .all({ now, limit, ...namesOf(busy) }),
        ),
      ),

    next: async (busy = nobody) =>
      database.read(
        () =>
          readRow(
            DueRow,
            "webhooks",
            database.prepare(`SELECT due_at FROM webhooks WHERE ${isFree} ORDER BY due_at LIMIT 1`).get(namesOf(busy)),
          )?.due_at,
      ),

    postpone: (webhook_id, due_at) =>
      commits.transaction(() => {
        database
          .prepare("UPDATE webhooks SET attempts = attempts + 1, due_at = @due_at WHERE webhook_id = @webhook_id")
          .run({ webhook_id, due_at });
      }),

    remove: (webhookId) =>
      commits.transaction(() => {
        database.prepare("DELETE FROM webhooks WHERE webhook_id = ?").run(webhookId);
      }),
  };
}
