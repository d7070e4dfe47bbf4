import { matchesFilter } from "@millrace/engine/storage/items/item-filter";
import type { ItemStore, StoreItem } from "@millrace/engine/storage/items/store-items";

/** Items in memory, for as long as a test; they never expire, and a query orders nothing. */
export function createMemoryItems(): ItemStore {
  const rows = new Map<string, StoreItem & { owner: string }>();
  const keyOf = (...place: unknown[]): string => JSON.stringify(place);
  const ofOwner = (owner: string): StoreItem[] =>
    [...rows.values()].filter((row) => row.owner === owner).map(({ owner: _owner, ...item }) => item);
  const below = ({ namespace }: StoreItem, prefix: readonly string[]): boolean =>
    prefix.every((label, at) => namespace[at] === label);
  return {
    async change(owner, changes) {
      for (const { namespace, key, value } of changes) {
        const place = keyOf(owner, namespace, key);
        const now = new Date().toISOString();
        if (value === null) rows.delete(place);
        else {
          const created_at = rows.get(place)?.created_at ?? now;
          rows.set(place, { owner, namespace: [...namespace], key, value, created_at, updated_at: now });
        }
      }
    },
    embed: () => Promise.resolve(),
    get: async (owner, namespace, key) =>
      ofOwner(owner).find((item) => keyOf(item.namespace, item.key) === keyOf(namespace, key)),
    search: async (owner, { prefix, filter = {}, limit, offset }) =>
      ofOwner(owner)
        .filter((item) => below(item, prefix) && matchesFilter(item.value, filter))
        .slice(offset, offset + limit),
    namespaces: async (owner, { prefix = [], limit, offset }) =>
      [
        ...new Map(
          ofOwner(owner)
            .filter((item) => below(item, prefix))
            .map(({ namespace }) => [keyOf(namespace), namespace]),
        ).values(),
      ].slice(offset, offset + limit),
    expire: async () => undefined,
    onExpiry: () => undefined,
    useIndex: () => undefined,
    async clear(owner) {
      for (const [place, row] of rows) if (row.owner === owner) rows.delete(place);
    },
  };
}
