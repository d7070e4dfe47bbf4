import type { SessionTtl, SessionTtlStore } from "@millrace/engine/storage/record-stores";

/** Times of sessions in memory, for as long as a test; nothing touches a session here. */
export function createMemoryTtls(exists: (sessionId: string) => boolean): SessionTtlStore {
  const rows = new Map<string, SessionTtl>();
  const all = (): SessionTtl[] => [...rows.values()].filter(({ session_id }) => exists(session_id));
  return {
    async set(session_id, ttl) {
      rows.delete(session_id);
      if (ttl === null || !exists(session_id)) return undefined;
      const row = { session_id, ...ttl, expires_at: new Date(Date.now() + ttl.minutes * 60_000).toISOString() };
      rows.set(session_id, row);
      return row;
    },
    get: async (id) => all().find(({ session_id }) => session_id === id),
    due: async () => all().filter(({ expires_at }) => expires_at <= new Date().toISOString()),
    async moveOn(id, expires_at) {
      const row = rows.get(id);
      if (row !== undefined) rows.set(id, { ...row, expires_at });
    },
    onExpiry: () => undefined,
    next: async () =>
      all()
        .map(({ expires_at }) => expires_at)
        .toSorted()
        .at(0),
  };
}
