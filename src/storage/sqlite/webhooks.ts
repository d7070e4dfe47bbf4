import { z } from "zod";
import type { WebhookStore } from "../webhooks.ts";
import type { Database } from "./database.ts";
import type { GroupCommit } from "./durable.ts";
import { readRow, readRows } from "./rows.ts";

const WebhookRow = z.object({
  webhook_id: z.number().int(),
  run_id: z.string(),
  url: z.string(),
  body: z.string(),
  attempts: z.number().int(),
  due_at: z.string(),
});
const DueRow = z.object({ due_at: z.string() });

/** Writes what is to be told of a run's end; in the transaction of that end. */
export function insertWebhook(database: Database, run_id: string, { url, body }: { url: string; body: string }): void {
  database
    .prepare("INSERT INTO webhooks (run_id, url, body, attempts, due_at) VALUES (@run_id, @url, @body, 0, @due_at)")
    .run({ run_id, url, body, due_at: new Date().toISOString() });
}

/** What the ends of runs have left to tell, in SQLite. */
export function createWebhookStore(database: Database, commits: GroupCommit): WebhookStore {
  return {
    due: async (now, limit) =>
      database.read(() =>
        readRows(
          WebhookRow,
          "webhooks",
          database
            .prepare("SELECT * FROM webhooks WHERE due_at <= @now ORDER BY due_at, webhook_id LIMIT @limit")
            .all({ now, limit }),
        ),
      ),

    next: async () =>
      database.read(
        () =>
          readRow(DueRow, "webhooks", database.prepare("SELECT due_at FROM webhooks ORDER BY due_at LIMIT 1").get())
            ?.due_at,
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
