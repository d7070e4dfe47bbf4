import type { BusyReceivers, Webhook, WebhookStore } from "@millrace/engine/storage/record-stores";

/** What is left to tell, in memory. */
export function createMemoryWebhooks(): WebhookStore & {
  add(runId: string, webhook: Pick<Webhook, "url" | "body"> & Partial<Webhook>): void;
} {
  const rows = new Map<number, Webhook>();
  let made = 0;
  const sorted = (): Webhook[] => [...rows.values()].toSorted((one, other) => (one.due_at < other.due_at ? -1 : 1));
  const free = (busy?: BusyReceivers): Webhook[] =>
    sorted().filter(
      ({ webhook_id, host, owner }) =>
        busy?.webhooks.includes(webhook_id) !== true &&
        busy?.hosts.includes(host) !== true &&
        (owner === null || busy?.owners.includes(owner) !== true),
    );
  return {
    add(run_id, webhook) {
      const webhook_id = ++made;
      const host = URL.canParse(webhook.url) ? new URL(webhook.url).host : "";
      const due_at = new Date().toISOString();
      rows.set(webhook_id, { host, owner: null, ...webhook, webhook_id, run_id, attempts: 0, due_at });
    },
    due: async (now, limit, busy) =>
      free(busy)
        .filter(({ due_at }) => due_at <= now)
        .slice(0, limit),
    next: async (busy) => free(busy)[0]?.due_at,
    async postpone(id, due_at) {
      const row = rows.get(id);
      if (row !== undefined) rows.set(id, { ...row, due_at, attempts: row.attempts + 1 });
    },
    async remove(id) {
      rows.delete(id);
    },
  };
}
