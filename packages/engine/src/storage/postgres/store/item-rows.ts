import { z } from "zod";
import { clusterDate } from "../../../concurrency/cluster-time.ts";
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
import { readRow, readRows } from "../../rows.ts";
import { asyncCommit, type PostgresDatabase, type Statements, type Values } from "../database/database.ts";

/** What has expired is not there any more, whether it was removed yet or not. */
const isThere = "owner = $1 AND (expires_at IS NULL OR expires_at > $2)";
const newestFirst = "ORDER BY updated_at DESC, id DESC";
/** The items of the rows of ids, in their order. */
const byIds =
  "FROM unnest($1::bigint[]) WITH ORDINALITY AS wanted (item, at) JOIN store_items ON id = item ORDER BY at";

/** Items of different keys, at once. */
const writeSql = `WITH given AS (
    SELECT * FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::float8[], $8::text[])
      WITH ORDINALITY AS rows (namespace, key, value, indexed, ttl, expires_at, at)),
  gone AS (
    DELETE FROM store_items USING given WHERE store_items.owner = $1 AND store_items.namespace = given.namespace
      AND store_items.key = given.key AND given.value IS NULL RETURNING ${asyncCommit}),
  written AS (
    INSERT INTO store_items (owner, namespace, key, value, indexed, ttl, expires_at, created_at, updated_at)
    SELECT $1, namespace, key, value, indexed, ttl, expires_at, $2, $2 FROM given WHERE value IS NOT NULL ORDER BY at
    ON CONFLICT (owner, namespace, key) DO UPDATE SET value = excluded.value, indexed = excluded.indexed,
      ttl = excluded.ttl, expires_at = excluded.expires_at, updated_at = excluded.updated_at,
      created_at = CASE WHEN store_items.expires_at <= excluded.updated_at THEN excluded.created_at
        ELSE store_items.created_at END
    RETURNING id, ${asyncCommit})
  DELETE FROM item_vectors USING written WHERE item = id`;

/**
 * Locks places of items, and what is there. A place without an item is locked by one that has expired; it is overwritten,
 * deleted or rolled back in the same transaction.
 */
const lockSql = `INSERT INTO store_items (owner, namespace, key, value, indexed, expires_at, created_at, updated_at)
  SELECT DISTINCT $1::text, namespace, key, '{}', 'false', $3::text, $3::text, $3::text
    FROM unnest($4::text[], $5::text[]) AS places (namespace, key) ORDER BY namespace, key
  ON CONFLICT (owner, namespace, key) DO UPDATE SET key = excluded.key
  RETURNING ${changedColumns}, expires_at IS NULL OR expires_at > $2 AS is_there`;
const longAgo = new Date(0).toISOString();
const LockedRow = ChangedRow.extend({ is_there: z.boolean() });

const pendingSql = `SELECT ${pendingColumns} FROM store_items WHERE ${isThere} AND indexed <> 'false'
  AND NOT EXISTS (SELECT FROM item_vectors WHERE item = store_items.id AND made_by = $3)`;

const IdRow = z.object({ id: z.number() });
const NamespaceRow = z.object({ namespace: z.string() });
const ExpiryRow = z.object({ expires_at: z.string().nullable() });

/** Items in parts of which each has every key at most once: one statement cannot write a row twice. */
function partsOf(items: readonly WrittenItem[]): WrittenItem[][] {
  const parts: WrittenItem[][] = [];
  let keys = new Set<string>();
  for (const item of items) {
    const key = JSON.stringify([item.namespace, item.key]);
    const part = parts.at(-1);
    if (part === undefined || keys.has(key)) {
      parts.push([item]);
      keys = new Set();
    } else part.push(item);
    keys.add(key);
  }
  return parts;
}

async function writePart(statements: Statements, owner: string, items: readonly WrittenItem[]): Promise<void> {
  const column = <Name extends keyof WrittenItem>(name: Name) => items.map((item) => item[name]);
  await statements.change(writeSql, [
    owner,
    clusterDate(),
    column("namespace"),
    column("key"),
    column("value"),
    column("indexed"),
    column("ttl"),
    column("expires_at"),
  ]);
}

/** What is written; see `changeOver`. The items that this depends on stay as they are until the transaction ends. */
async function changesOver(
  statements: Statements,
  owner: string,
  items: readonly WrittenItem[],
): Promise<WrittenItem[]> {
  const depending = items.filter(dependsOnItem);
  const places = [depending.map(({ namespace }) => namespace), depending.map(({ key }) => key)];
  const rows = await statements.rows(lockSql, [owner, clusterDate(), longAgo, ...places]);
  const found = readRows(LockedRow, "store_items", rows).filter(({ is_there }) => is_there);
  return items.flatMap((item) => {
    const at = found.find(({ namespace, key }) => key === item.key && joinNamespace(namespace) === item.namespace);
    return changeOver(item, at);
  });
}

async function writeItems(
  database: PostgresDatabase,
  owner: string,
  items: readonly WrittenItem[],
): Promise<WrittenItem[]> {
  const depends = items.some(dependsOnItem);
  const [first = [], ...others] = partsOf(items);
  if (!depends && others.length === 0) {
    await writePart(database, owner, first);
    return first;
  }
  return await database.transaction(async (statements) => {
    const written = depends ? await changesOver(statements, owner, items) : [...items];
    for (const part of partsOf(written)) await writePart(statements, owner, part);
    return written;
  }, false);
}

async function keep(statements: Statements, made: readonly ItemVectors[], madeBy: string): Promise<void> {
  const unchanged = `SELECT id, ${asyncCommit} FROM unnest($1::bigint[], $2::text[], $3::text[]) AS made (item, value, indexed)
    JOIN store_items USING (value, indexed) WHERE id = item FOR NO KEY UPDATE OF store_items`;
  const rows = made.map(({ row }) => row);
  const found = await statements.rows(unchanged, [
    rows.map(({ id }) => id),
    rows.map(({ value }) => value),
    rows.map(({ indexed }) => JSON.stringify(indexed)),
  ]);
  const same = new Set(readRows(IdRow, "store_items", found).map(({ id }) => id));
  const kept = made.filter(({ row }) => same.has(row.id));
  const vectors = kept.flatMap(({ row, vectors: all }) => all.map((vector, place) => ({ id: row.id, place, vector })));
  if (vectors.length === 0) return;
  await statements.change("DELETE FROM item_vectors WHERE item = ANY ($1::bigint[])", [[...same]]);
  await statements.change(
    `INSERT INTO item_vectors (item, place, made_by, vector)
     SELECT item, place, $4, vector FROM unnest($1::bigint[], $2::int[], $3::bytea[]) AS rows (item, place, vector)`,
    [vectors.map(({ id }) => id), vectors.map(({ place }) => place), vectors.map(({ vector }) => vector), madeBy],
  );
}

async function pendingItems(
  database: Statements,
  owner: string,
  wanted: PendingQuery,
  madeBy: string,
): Promise<PendingRow[]> {
  const given = [owner, clusterDate(), madeBy];
  if ("places" in wanted) {
    const sql = `${pendingSql} AND (namespace, key) IN (SELECT * FROM unnest($4::text[], $5::text[]))`;
    const namespaces = wanted.places.map(({ namespace }) => joinNamespace(namespace));
    const keys = wanted.places.map(({ key }) => key);
    return readRows(PendingRow, "store_items", await database.read(sql, [...given, namespaces, keys]));
  }
  const range = rangeOf(wanted.prefix);
  const sql = `${pendingSql} AND ($4::text IS NULL OR (namespace >= $4 AND namespace < $5::text))
    ${newestFirst} LIMIT $6`;
  const values = [...given, range?.from ?? null, range?.to ?? null, wanted.limit];
  return readRows(PendingRow, "store_items", await database.read(sql, values));
}

/** The rows of an owner's items in a range; the range is $3 and $4, further values follow. */
async function below<Schema extends z.ZodType>(
  database: Statements,
  { schema, select, order = "", values = [] }: { schema: Schema; select: string; order?: string; values?: Values },
  { owner, range }: { owner: string; range: Range | undefined },
): Promise<z.infer<Schema>[]> {
  const sql = `SELECT ${select} FROM store_items
    WHERE ${isThere} AND ($3::text IS NULL OR (namespace >= $3 AND namespace < $4::text)) ${order}`;
  const given = [owner, clusterDate(), range?.from ?? null, range?.to ?? null, ...values];
  return readRows(schema, "store_items", await database.read(sql, given));
}

/** The rows of the store's items in PostgreSQL. Nothing of them waits for the disk. */
export function createItemRows(database: PostgresDatabase): ItemRows {
  return {
    // What was written already is written again, which changes nothing.
    write: (owner, items) => database.once(() => writeItems(database, owner, items)),
    async at(owner, namespace, key) {
      const sql = `SELECT ${itemColumns} FROM store_items WHERE ${isThere} AND namespace = $3 AND key = $4`;
      const [row] = await database.read(sql, [owner, clusterDate(), namespace, key]);
      return readRow(ItemRow, "store_items", row);
    },
    rows: async (ids) => readRows(ItemRow, "store_items", await database.read(`SELECT ${itemColumns} ${byIds}`, [ids])),
    contents: async (ids) =>
      readRows(ContentRow, "store_items", await database.read(`SELECT id, value, indexed ${byIds}`, [ids])),
    async idsBelow(owner, range, { limit = null, offset }) {
      const order = `${newestFirst} LIMIT $5 OFFSET $6`;
      const rows = await below(
        database,
        { schema: IdRow, select: "id", order, values: [limit, offset] },
        { owner, range },
      );
      return rows.map(({ id }) => id);
    },
    namespaces: async (owner, range) =>
      (await below(database, { schema: NamespaceRow, select: "DISTINCT namespace" }, { owner, range })).map(
        ({ namespace }) => namespace,
      ),
    async expireAt(items) {
      await database.rows(
        `UPDATE store_items SET expires_at = given.expires_at
         FROM unnest($1::bigint[], $2::text[]) AS given (item, expires_at) WHERE id = item RETURNING ${asyncCommit}`,
        [items.map(({ id }) => id), items.map(({ expires_at }) => expires_at)],
      );
    },
    async removeExpired() {
      const sql = `WITH gone AS (DELETE FROM store_items WHERE expires_at <= $1 RETURNING ${asyncCommit})
        SELECT min(expires_at) AS expires_at FROM store_items WHERE expires_at > $1`;
      const [row] = await database.rows(sql, [clusterDate()]);
      return readRow(ExpiryRow, "store_items", row)?.expires_at ?? undefined;
    },
    clear: async (owner) =>
      void (await database.rows(`DELETE FROM store_items WHERE owner = $1 RETURNING ${asyncCommit}`, [owner])),
    pending: (owner, wanted, madeBy) => pendingItems(database, owner, wanted, madeBy),
    keepVectors: (made, madeBy) => database.transaction((statements) => keep(statements, made, madeBy), false),
    vectors: async (ids, madeBy) =>
      readRows(
        VectorRow,
        "item_vectors",
        await database.read("SELECT item, vector FROM item_vectors WHERE item = ANY ($1::bigint[]) AND made_by = $2", [
          ids,
          madeBy,
        ]),
      ),
  };
}
