import { z } from "zod";
import { matchesFilter } from "../item-filter.ts";
import { scoreOf } from "../item-score.ts";
import { StoreItem, type FoundItem, type ItemChange, type ItemQuery, type ItemStore } from "../store-items.ts";
import type { Database } from "./database.ts";
import type { GroupCommit } from "./durable.ts";
import { listNamespaces } from "./item-namespaces.ts";
import { joined, rangeOf, splitNamespace } from "./item-place.ts";
import { json, readRow, readRows } from "./rows.ts";

const columns = "id, namespace, key, value, created_at, updated_at, expires_at, ttl";
/** What has expired is not there any more, whether it was removed yet or not. */
const isThere = "owner = @owner AND (expires_at IS NULL OR expires_at > @now)";
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
  score: z.number().nullish(),
});
type ItemRow = z.infer<typeof ItemRow>;
const ExpiryRow = z.object({ expires_at: z.string().nullable() });

function toItem({ namespace, key, value, created_at, updated_at, score }: ItemRow): FoundItem {
  const item = { namespace, key, value, created_at, updated_at };
  return score === null || score === undefined ? item : { ...item, score };
}

/** The date so many minutes from now, as far as dates go. */
function expiryAfter(ttl: number): string {
  return new Date(Math.min(Date.now() + ttl * 60_000, 8.64e15)).toISOString();
}

/**
 * Makes `item_matches(value, filter)` and `item_score(value, indexed, query)` known to SQLite. A query has one filter for
 * all rows, so its last parse is kept.
 */
function defineItemFunctions(database: Database): void {
  let lastText = "";
  let lastFilter = {};
  database.raw.function("item_matches", { deterministic: true }, (value: unknown, filter: unknown) => {
    if (typeof value !== "string" || typeof filter !== "string") return 0;
    if (filter !== lastText) {
      lastFilter = StoreItem.shape.value.parse(JSON.parse(filter));
      lastText = filter;
    }
    return matchesFilter(JSON.parse(value), lastFilter) ? 1 : 0;
  });
  database.raw.function("item_score", { deterministic: true }, (value: unknown, indexed: unknown, query: unknown) => {
    if (typeof value !== "string" || typeof indexed !== "string" || typeof query !== "string") return null;
    // Both columns are JSON of ours.
    const index = JSON.parse(indexed) as false | string[] | null;
    return scoreOf(JSON.parse(value), index, query) ?? null;
  });
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

function searchRows(database: Database, owner: string, query: ItemQuery): ItemRow[] {
  const { filter = {}, query: words, limit, offset } = query;
  const hasFilter = Object.keys(filter).length > 0;
  const range = rangeOf(query.prefix);
  const clauses = [
    isThere,
    ...(range === undefined ? [] : ["namespace >= @from AND namespace < @to"]),
    ...(hasFilter ? ["item_matches(value, @filter) = 1"] : []),
  ];
  const score = words === undefined ? "" : ", item_score(value, indexed, @words) AS score";
  // What has no score comes last.
  const order = words === undefined ? "" : "score DESC, ";
  return readRows(
    ItemRow,
    "store_items",
    database
      .prepare(
        `SELECT ${columns}${score} FROM store_items WHERE ${clauses.join(" AND ")}
         ORDER BY ${order}updated_at DESC, id DESC LIMIT @limit OFFSET @offset`,
      )
      .all({
        owner,
        now: new Date().toISOString(),
        limit,
        offset,
        ...range,
        ...(hasFilter && { filter: JSON.stringify(filter) }),
        ...(words !== undefined && { words }),
      }),
  );
}

/** The items of the store in SQLite. */
export function createItemStore(database: Database, commits: GroupCommit): ItemStore {
  defineItemFunctions(database);
  const listeners: ((time: string) => void)[] = [];
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
  return {
    async change(owner, changes) {
      tell(await commits.transaction(() => changes.map((change) => write(database, owner, change))));
    },

    async get(owner, namespace, key, refreshes = true) {
      const place = { owner, namespace: joined(namespace), key, now: new Date().toISOString() };
      const row = database.read(() =>
        readRow(
          ItemRow,
          "store_items",
          database
            .prepare(`SELECT ${columns} FROM store_items WHERE ${isThere} AND namespace = @namespace AND key = @key`)
            .get(place),
        ),
      );
      if (row === undefined) return undefined;
      if (refreshes) await refresh([row]);
      return toItem(row);
    },

    async search(owner, query) {
      const rows = database.read(() => searchRows(database, owner, query));
      if (query.refresh ?? true) await refresh(rows);
      return rows.map(toItem);
    },

    namespaces: async (owner, query) => database.read(() => listNamespaces(database, owner, query)),

    async expire() {
      return await commits.transaction(() => {
        database.prepare("DELETE FROM store_items WHERE expires_at <= ?").run(new Date().toISOString());
        const next = database.prepare("SELECT min(expires_at) AS expires_at FROM store_items").get();
        return readRow(ExpiryRow, "store_items", next)?.expires_at ?? undefined;
      });
    },

    onExpiry: (listener) => void listeners.push(listener),

    async clear(owner) {
      await commits.transaction(() => database.prepare("DELETE FROM store_items WHERE owner = ?").run(owner));
    },
  };
}
