import { z } from "zod";
import {
  changedColumns,
  ChangedRow,
  changeOver,
  ContentRow,
  dependsOnItem,
  itemColumns,
  ItemRow,
  type ItemRows,
  joinNamespace,
  type ItemVectors,
  pendingColumns,
  PendingRow,
  type Range,
  rangeOf,
  VectorRow,
  type PendingQuery,
  type WrittenItem,
} from "../../items/item-rows.ts";
import { parseRow, readRow, readRows } from "../../rows.ts";
import type { Database } from "../database/database.ts";
import type { GroupCommit } from "../database/durable.ts";

const upsert = `INSERT INTO store_items (owner, namespace, key, value, indexed, ttl, expires_at, created_at, updated_at)
  VALUES (@owner, @namespace, @key, @value, @indexed, @ttl, @expires_at, @now, @now)
  ON CONFLICT (owner, namespace, key) DO UPDATE SET value = excluded.value, indexed = excluded.indexed,
    ttl = excluded.ttl, expires_at = excluded.expires_at, updated_at = excluded.updated_at,
    created_at = CASE WHEN store_items.expires_at <= excluded.updated_at THEN excluded.created_at
      ELSE store_items.created_at END`;

/** What has expired is not there any more, whether it was removed yet or not. */
const isThere = "owner = @owner AND (expires_at IS NULL OR expires_at > @now)";
const isInRange = "namespace >= @from AND namespace < @to";
const newestFirst = "ORDER BY updated_at DESC, id DESC";
const isPending = `indexed <> 'false' AND NOT EXISTS
  (SELECT 1 FROM item_vectors WHERE item = store_items.id AND made_by = @madeBy)`;

const IdRow = z.object({ id: z.number() });
const NamespaceRow = z.object({ namespace: z.string() });
const ExpiryRow = z.object({ expires_at: z.string().nullable() });

function write(database: Database, owner: string, item: WrittenItem): void {
  const { namespace, key, value } = item;
  if (value === null) {
    database
      .prepare("DELETE FROM store_items WHERE owner = @owner AND namespace = @namespace AND key = @key")
      .run({ owner, namespace, key });
  } else database.prepare(upsert).run({ ...item, owner, now: new Date().toISOString() });
}

function itemAt(database: Database, owner: string, { namespace, key }: Pick<WrittenItem, "namespace" | "key">) {
  const select = `SELECT ${changedColumns} FROM store_items WHERE ${isThere} AND namespace = @namespace AND key = @key`;
  const row = database.prepare(select).get({ owner, namespace, key, now: new Date().toISOString() });
  return readRow(ChangedRow, "store_items", row);
}

/** Gives the time at which the next item goes. */
function removeExpired(database: Database): string | undefined {
  database.prepare("DELETE FROM store_items WHERE expires_at <= ?").run(new Date().toISOString());
  const next = database.prepare("SELECT min(expires_at) AS expires_at FROM store_items").get();
  return readRow(ExpiryRow, "store_items", next)?.expires_at ?? undefined;
}

function pendingItems(database: Database, owner: string, wanted: PendingQuery, madeBy: string): PendingRow[] {
  const common = { owner, madeBy, now: new Date().toISOString() };
  const select = `SELECT ${pendingColumns} FROM store_items WHERE ${isThere} AND ${isPending}`;
  if ("places" in wanted) {
    const statement = database.prepare(`${select} AND namespace = @namespace AND key = @key`);
    return wanted.places.flatMap(({ namespace, key }) =>
      readRows(PendingRow, "store_items", statement.all({ ...common, namespace: joinNamespace(namespace), key })),
    );
  }
  const range = rangeOf(wanted.prefix);
  const statement = database.prepare(
    `${select} ${range === undefined ? "" : `AND ${isInRange}`} ${newestFirst} LIMIT @limit`,
  );
  return readRows(PendingRow, "store_items", statement.all({ ...common, ...range, limit: wanted.limit }));
}

function keep(database: Database, { row, vectors }: ItemVectors, madeBy: string): void {
  const { id, value, indexed } = row;
  const same = database
    .prepare("SELECT 1 FROM store_items WHERE id = @id AND value = @value AND indexed = @indexed")
    .get({ id, value, indexed: JSON.stringify(indexed) });
  if (same === undefined) return;
  database.prepare("DELETE FROM item_vectors WHERE item = ?").run(id);
  const insert = database.prepare(
    "INSERT INTO item_vectors (item, place, made_by, vector) VALUES (@id, @place, @madeBy, @vector)",
  );
  for (const [place, vector] of vectors.entries()) insert.run({ id, place, madeBy, vector });
}

/** The rows of the store's items in SQLite. */
export function createItemRows(database: Database, commits: GroupCommit): ItemRows {
  /** The row of each id that there is. */
  const each = <Schema extends z.ZodType>(schema: Schema, columns: string, ids: readonly number[]): z.infer<Schema>[] =>
    database.read(() => {
      const select = database.prepare(`SELECT ${columns} FROM store_items WHERE id = ?`);
      return ids.flatMap((id) => {
        const row = select.get(id);
        return row === undefined ? [] : [parseRow(schema, "store_items", row)];
      });
    });
  /** The rows of an owner's items in a range. */
  const below = <Schema extends z.ZodType>(
    schema: Schema,
    { select, order = "" }: { select: string; order?: string },
    { range, ...values }: { owner: string; range: Range | undefined; limit?: number; offset?: number },
  ): z.infer<Schema>[] =>
    database.read(() => {
      const inRange = range === undefined ? "" : `AND ${isInRange}`;
      const statement = database.prepare(`SELECT ${select} FROM store_items WHERE ${isThere} ${inRange} ${order}`);
      return readRows(schema, "store_items", statement.all({ ...values, ...range, now: new Date().toISOString() }));
    });
  return {
    write: (owner, items) =>
      commits.transaction(() => {
        const written = items.flatMap((item) =>
          dependsOnItem(item) ? changeOver(item, itemAt(database, owner, item)) : item,
        );
        for (const item of written) write(database, owner, item);
        return written;
      }),
    at: async (owner, namespace, key) => database.read(() => itemAt(database, owner, { namespace, key })),
    rows: async (ids) => each(ItemRow, itemColumns, ids),
    contents: async (ids) => each(ContentRow, "id, value, indexed", ids),
    async idsBelow(owner, range, { limit = -1, offset }) {
      const order = `${newestFirst} LIMIT @limit OFFSET @offset`;
      return below(IdRow, { select: "id", order }, { owner, range, limit, offset }).map(({ id }) => id);
    },
    namespaces: async (owner, range) =>
      below(NamespaceRow, { select: "DISTINCT namespace" }, { owner, range }).map(({ namespace }) => namespace),
    expireAt: (items) =>
      commits.transaction(() => {
        const update = database.prepare("UPDATE store_items SET expires_at = @expires_at WHERE id = @id");
        for (const item of items) update.run(item);
      }),
    removeExpired: () => commits.transaction(() => removeExpired(database)),
    clear: (owner) =>
      commits.transaction(() => void database.prepare("DELETE FROM store_items WHERE owner = ?").run(owner)),
    pending: async (owner, wanted, madeBy) => database.read(() => pendingItems(database, owner, wanted, madeBy)),
    keepVectors: (made, madeBy) =>
      commits.transaction(() => {
        for (const one of made) keep(database, one, madeBy);
      }),
    vectors: async (ids, madeBy) =>
      database.read(() => {
        const select = database.prepare("SELECT item, vector FROM item_vectors WHERE item = ? AND made_by = ?");
        return ids.flatMap((id) => readRows(VectorRow, "item_vectors", select.all(id, madeBy)));
      }),
  };
}
