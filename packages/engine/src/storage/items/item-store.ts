import { createPendingEmbedder, embedItems, searchIndexed } from "./embed-items.ts";
import type { ItemIndex } from "./item-filter.ts";
import { expiryAfter, type ItemRow, type ItemRows, joinNamespace, toWrittenItem } from "./item-rows.ts";
import { listNamespaces, searchItems } from "./item-search.ts";
import type { FoundItem, ItemStore } from "./store-items.ts";

function toItem({ namespace, key, value, created_at, updated_at, ttl }: ItemRow, score?: number): FoundItem {
  const item = { namespace, key, value, created_at, updated_at };
  return { ...item, ...(score !== undefined && { score }), ...(ttl !== null && { ttl }) };
}

/** The items of the store over their rows in a database. */
export function createItemStore(items: ItemRows): ItemStore {
  const listeners: ((time: string) => void)[] = [];
  const catchUp = createPendingEmbedder();
  let index: ItemIndex | undefined;
  const notifyExpiry = (times: Iterable<string | null>): void => {
    for (const time of times) if (time !== null) for (const listener of listeners) listener(time);
  };
  /** The time of items that were read begins anew; most have none, and cost nothing. */
  const refresh = async (rows: readonly ItemRow[]): Promise<void> => {
    const timed = rows.flatMap(({ id, ttl }) => (ttl === null ? [] : [{ id, expires_at: expiryAfter(ttl) }]));
    if (timed.length === 0) return;
    await items.expireAt(timed);
    notifyExpiry(timed.map(({ expires_at }) => expires_at));
  };
  const embed: ItemStore["embed"] = async (owner, places) => {
    if (index !== undefined) await embedItems({ items, index }, { owner, places });
  };
  return {
    async change(owner, changes, embeds = true) {
      const written = await items.write(owner, changes.map(toWrittenItem));
      notifyExpiry(written.map(({ expires_at }) => expires_at));
      if (embeds) await embed(owner, changes);
    },

    embed,

    async get(owner, namespace, key, refreshes = true) {
      const row = await items.at(owner, joinNamespace(namespace), key);
      if (row === undefined) return undefined;
      if (refreshes) await refresh([row]);
      return toItem(row);
    },

    async search(owner, query) {
      const hits = await (index === undefined
        ? searchItems(items, owner, query)
        : searchIndexed({ items, index, catchUp }, owner, query));
      const rows = await items.rows(hits.map(({ id }) => id));
      if (query.refresh ?? true) await refresh(rows);
      const scores = new Map(hits.map(({ id, score }) => [id, score]));
      return rows.map((row) => toItem(row, scores.get(row.id)));
    },

    namespaces: (owner, query) => listNamespaces(items, owner, query),

    expire: () => items.removeExpired(),

    onExpiry: (listener) => void listeners.push(listener),

    useIndex(wanted) {
      index = wanted;
    },

    clear: (owner) => items.clear(owner),
  };
}
