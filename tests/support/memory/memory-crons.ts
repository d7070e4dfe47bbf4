import type { Cron, CronStore, CronTurn } from "@millrace/engine/storage/record-stores";

/** Crons in memory, for as long as a test. Searching finds all of them. */
export function createMemoryCrons(): CronStore {
  const rows = new Map<string, Cron>();
  const due = (): Cron[] =>
    [...rows.values()]
      .filter(({ enabled, next_run_date }) => enabled && next_run_date !== null)
      .toSorted((left, right) => String(left.next_run_date).localeCompare(String(right.next_run_date)));
  return {
    onDate: () => undefined,
    async create(cron) {
      rows.set(cron.cron_id, cron);
      return cron;
    },
    get: async (id) => rows.get(id),
    async update(id, patch) {
      const cron = rows.get(id);
      if (cron === undefined) return undefined;
      const changed = { ...cron, ...patch, metadata: { ...cron.metadata, ...patch.metadata } };
      rows.set(id, changed);
      return changed;
    },
    delete: async (id) => rows.delete(id),
    search: async () => ({ crons: [...rows.values()], total: rows.size }),
    due: async (now) => due().filter(({ next_run_date }) => String(next_run_date) <= now),
    next: async () => due()[0]?.next_run_date ?? undefined,
    async skip({ cron_id, due: date, next }: CronTurn) {
      const cron = rows.get(cron_id);
      if (cron?.next_run_date !== date || !cron.enabled) return false;
      rows.set(cron_id, { ...cron, next_run_date: next });
      return true;
    },
  };
}
