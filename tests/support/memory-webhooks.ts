import type { Webhook, WebhookStore } from "../../src/storage/webhooks.ts";

/** What is left to tell, in memory. */
export function createMemoryWebhooks(): WebhookStore & {
  add(runId: string, webhook: { url: string; body: string }): void;
} {
  const rows = new Map<number, Webhook>();
  let made = 0;
  const sorted = (): Webhook[] => [...rows.values()].toSorted((one, other) => (one.due_at < other.due_at ? -1 : 1));
  return {
    add(run_id, webhook) {
      const webhook_id = ++made;
      rows.set(webhook_id, { ...webhook, webhook_id, run_id, attempts: 0, due_at: new Date().toISOString() });
    },
    due: async (now, limit) =>
      sorted()
        .filter(({ due_at }) => due_at <= now)
        .slice(0, limit),
    next: async () => sorted()[0]?.due_at,
    async postpone(id, due_at) {
      const row = rows.get(id);
      if (row !== undefined) rows.set(id, { ...row, due_at, attempts: row.attempts + 1 });
    },
    async remove(id) {
      rows.delete(id);
    },
  };
}
