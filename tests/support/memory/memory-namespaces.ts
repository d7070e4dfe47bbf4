import type { Namespace } from "@millrace/engine/storage/records";
import type { NamespaceStore } from "@millrace/engine/storage/storage";

/** Current sessions in memory; one that is deleted is no longer current. */
export function createMemoryNamespaces(exists: (sessionId: string) => boolean): NamespaceStore {
  const rows = new Map<string, Namespace>();
  const keyOf = (owner: string, namespace: string): string => JSON.stringify([owner, namespace]);
  return {
    async get(owner, namespace) {
      const row = rows.get(keyOf(owner, namespace));
      return row !== undefined && exists(row.session_id) ? row : undefined;
    },
    list: async (owner) =>
      [...rows]
        .filter(([key, row]) => key === keyOf(owner, row.namespace) && exists(row.session_id))
        .map(([, row]) => row)
        .toSorted((left, right) => (left.namespace < right.namespace ? -1 : 1)),
    async set(owner, namespace, session_id) {
      if (!exists(session_id)) return false;
      rows.set(keyOf(owner, namespace), { namespace, session_id, updated_at: new Date().toISOString() });
      return true;
    },
  };
}
