import { z } from "zod";
import type { ItemIndex } from "../../items/item-filter.ts";
import { StoreItem, type FoundItem, type ItemChange, type ItemStore } from "../../items/store-items.ts";
import type { Database } from "../database/database.ts";
import { readRow, json } from "../../rows.ts";
import type { GroupCommit } from "../database/durable.ts";
import { createCatchUp, embedItems, searchIndexed } from "./embed-items.ts";
import { isThere, type ItemHit, joined, listNamespaces, searchItems, splitNamespace } from "./item-search.ts";

const columns = "id, namespace, key, value, created_at, updated_at, expires_at, ttl";
const upsert = `INSERT INTO store_items (owner, namespace, key, value, indexed, ttl, expires_at, created_at, updated_at)
  VALUES (@owner, @namespace, @key, @value, @indexed, @ttl, @expires_at, @now, @now)
  ON CONFLICT (owner, namespace, key) DO UPDATE SET value = excluded.value, indexed = excluded.indexed,
    ttl = excluded.ttl, expires_at = excluded.expires_at, updated_at = excluded.updated_at,
    created_at = CASE WHEN store_items.expires_at <= excluded.updated_at THEN excluded.created_at
      ELSE store_items.created_at END`;

const ItemRow = StoreItem.extend({
  id: z.number(),
  namespace: z.string().transform(splitNamespace),
  value: json(StoreItem.shape.value),
  expires_at: z.string().nullable(),
  ttl: z.number().nullable(),
  score: z.number().optional(),
});
type ItemRow = z.infer<typeof ItemRow>;
const ExpiryRow = z.object({ expires_at: z.string().nullable() });

function toItem({ namespace, key, value, created_at, updated_at, score }: ItemRow): FoundItem {
  const item = { namespace, key, value, created_at, updated_at };
  return score === undefined ? item : { ...item, score };
}

/** The date so many minutes from now, as far as dates go. */
function expiryAfter(ttl: number): string {
  return new Date(Math.min(Date.now() + ttl * 60_000, 8.64e15)).toISOString();
}

function write(database: Database, owner: string, change: ItemChange): string | undefined {
  const { key, value, index = null, ttl = null } = change;
  const place = { owner, namespace: joined(change.namespace), key };
  if (value === null) {
    database
      .prepare("DELETE FROM store_items WHERE owner = @owner AND namespace = @namespace AND key = @key")
      .run(place);
    return undefined;
  }
  const expires_at = ttl === null ? undefined : expiryAfter(ttl);
  database.prepare(upsert).run({
    ...place,
    value: JSON.stringify(value),
    indexed: JSON.stringify(index),
    ttl,
    expires_at: expires_at ?? null,
    now: new Date().toISOString(),
  });
  return expires_at;
}

function rowAt(database: Database, place: { owner: string; namespace: string; key: string }): ItemRow | undefined {
  const select = `SELECT ${columns} FROM store_items WHERE ${isThere} AND namespace = @namespace AND key = @key`;
  const now = new Date().toISOString();
  return database.read(() => readRow(ItemRow, "store_items", database.prepare(select).get({ ...place, now })));
}

/** Gives the time at which the next item goes. */
function removeExpired(database: Database): string | undefined {
  database.prepare("DELETE FROM store_items WHERE expires_at <= ?").run(new Date().toISOString());
  const next = database.prepare("SELECT min(expires_at) AS expires_at FROM store_items").get();
  return readRow(ExpiryRow, "store_items", next)?.expires_at ?? undefined;
}

/** The items of hits, in their order; without those that are gone meanwhile. */
function rowsOf(database: Database, hits: readonly ItemHit[]): ItemRow[] {
  const select = database.prepare(`SELECT ${columns} FROM store_items WHERE id = ?`);
  return hits.flatMap(({ id, score }) => {
    const row = readRow(ItemRow, "store_items", select.get(id));
    return row === undefined ? [] : [{ ...row, score }];
  });
}

/** The items of the store in SQLite. */
export function createItemStore(database: Database, commits: GroupCommit): ItemStore {
  const listeners: ((time: string) => void)[] = [];
  const catchUp = createCatchUp();
  let index: ItemIndex | undefined;
  const tell = (times: Iterable<string | undefined>): void => {
    for (const time of times) if (time !== undefined) for (const listener of listeners) listener(time);
  };
  /** The time of items that were read begins anew; most have none, and cost nothing. */
  const refresh = async (rows: readonly ItemRow[]): Promise<void> => {
    const timed = rows.flatMap(({ id, ttl }) => (ttl === null ? [] : [{ id, expires_at: expiryAfter(ttl) }]));
    if (timed.length === 0) return;
    const update = "UPDATE store_items SET expires_at = @expires_at WHERE id = @id";
    await commits.transaction(() => {
      for (const row of timed) database.prepare(update).run(row);
    });
    tell(timed.map(({ expires_at }) => expires_at));
  };
  const embed: ItemStore["embed"] = async (owner, places) => {
    if (index !== undefined) await embedItems({ database, commits, index }, { owner, places });
  };
  return {
    async change(owner, changes, embeds = true) {
      tell(await commits.transaction(() => changes.map((change) => write(database, owner, change))));
      if (embeds) await embed(owner, changes);
    },

    embed,

    async get(owner, namespace, key, refreshes = true) {
      const row = rowAt(database, { owner, namespace: joined(namespace), key });
      if (row === undefined) return undefined;
      if (refreshes) await refresh([row]);
      return toItem(row);
    },

    async search(owner, query) {
      const hits = await (index === undefined
        ? searchItems(database, owner, query)
        : searchIndexed({ database, commits, index, catchUp }, owner, query));
      const rows = database.read(() => rowsOf(database, hits));
      if (query.refresh ?? true) await refresh(rows);
      return rows.map(toItem);
    },

    namespaces: async (owner, query) => database.read(() => listNamespaces(database, owner, query)),

    async expire() {
      return await commits.transaction(() => removeExpired(database));
    },

    onExpiry: (listener) => void listeners.push(listener),

    useIndex(wanted) {
      index = wanted;
    },

    async clear(owner) {
      await commits.transaction(() => database.prepare("DELETE FROM store_items WHERE owner = ?").run(owner));
    },
  };
}
