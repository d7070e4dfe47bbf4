import { setImmediate as nextTurn } from "node:timers/promises";
import { z } from "zod";
import { nearness, textsToEmbed, unitVector, type ItemIndex } from "../item-index.ts";
import { JsonObject } from "../records.ts";
import type { ItemQuery } from "../store-items.ts";
import type { Database } from "./database.ts";
import type { GroupCommit } from "./durable.ts";
import { joined, rangeOf } from "./item-place.ts";
import { byScore, idsBelow, isThere, matching, searchItems, type ItemHit } from "./item-search.ts";
import { json, readRows } from "./rows.ts";

/** Items that a query by meaning looks at, the last changed; and items that are embedded before it, where that is still to do. */
const [mostLookedAt, mostCaughtUp] = [10_000, 500];
/** Items that are compared at a time: a few milliseconds. */
const comparedAtOnce = 50;
/** Items that are embedded with one request, and milliseconds for it. */
const [embeddedAtOnce, patience] = [20, 30_000];
/** Milliseconds until a query has to be embedded. */
const queryPatience = 15_000;

const PendingRow = z.object({
  id: z.number(),
  value: z.string(),
  parsed: json(JsonObject),
  indexed: json(z.union([z.literal(false), z.array(z.string()), z.null()])),
});
type PendingRow = z.infer<typeof PendingRow>;
const VectorRow = z.object({ vector: z.instanceof(Uint8Array).nullable() });

const isPending = `indexed <> 'false' AND NOT EXISTS
  (SELECT 1 FROM item_vectors WHERE item = store_items.id AND made_by = @madeBy)`;
const pendingColumns = "id, value, value AS parsed, indexed";

/** Which items are to be embedded: those at these places, or those below a namespace, last changed first. */
type Wanted = { places: readonly { namespace: readonly string[]; key: string }[] } | { prefix: readonly string[] };

/** Where items are, and what embeds them. */
interface Parts {
  database: Database;
  commits: GroupCommit;
  index: ItemIndex;
}

/**
 * Embeds the items that have no vectors of this index. Whoever wrote them need not care: what fails is told, and the items
 * wait for the next query that looks for them.
 */
export async function embedItems(
  { database, commits, index }: Parts,
  { owner, ...wanted }: Wanted & { owner: string },
): Promise<void> {
  const pending = pendingItems(database, owner, wanted, index.madeBy);
  for (let at = 0; at < pending.length; at += embeddedAtOnce) {
    const rows = pending.slice(at, at + embeddedAtOnce);
    try {
      const texts = rows.map(({ parsed, indexed }) => textsToEmbed(parsed, indexed, index.fields));
      const all = texts.flat();
      const vectors = all.length === 0 ? [] : await index.embed(all, AbortSignal.timeout(patience));
      let taken = 0;
      const made = rows.map((row, place) => {
        const count = texts[place]?.length ?? 0;
        taken += count;
        return { row, vectors: vectors.slice(taken - count, taken) };
      });
      await commits.transaction(() => {
        for (const one of made) keep(database, one, index.madeBy);
      });
    } catch (error) {
      index.onFailure(error, pending.length - at);
      return;
    }
  }
}

function pendingItems(database: Database, owner: string, wanted: Wanted, madeBy: string): PendingRow[] {
  const common = { owner, madeBy, now: new Date().toISOString() };
  const select = `SELECT ${pendingColumns} FROM store_items WHERE ${isThere} AND ${isPending}`;
  return database.read(() => {
    if ("places" in wanted) {
      const statement = database.prepare(`${select} AND namespace = @namespace AND key = @key`);
      return wanted.places.flatMap(({ namespace, key }) =>
        readRows(PendingRow, "store_items", statement.all({ ...common, namespace: joined(namespace), key })),
      );
    }
    const range = rangeOf(wanted.prefix);
    const inRange = range === undefined ? "" : "AND namespace >= @from AND namespace < @to";
    const statement = database.prepare(`${select} ${inRange} ORDER BY updated_at DESC, id DESC LIMIT @most`);
    return readRows(PendingRow, "store_items", statement.all({ ...common, ...range, most: mostCaughtUp }));
  });
}

/** Keeps the vectors of an item, unless it has changed meanwhile. One without texts gets an empty one: it was looked at. */
function keep(
  database: Database,
  { row, vectors }: { row: PendingRow; vectors: Float32Array[] },
  madeBy: string,
): void {
  const { id, value, indexed } = row;
  const same = database
    .prepare("SELECT 1 FROM store_items WHERE id = @id AND value = @value AND indexed = @indexed")
    .get({ id, value, indexed: JSON.stringify(indexed) });
  if (same === undefined) return;
  database.prepare("DELETE FROM item_vectors WHERE item = ?").run(id);
  const insert = database.prepare(
    "INSERT INTO item_vectors (item, place, made_by, vector) VALUES (@id, @place, @madeBy, @vector)",
  );
  const kept = vectors.length === 0 ? [null] : vectors.map((vector) => bytesOf(unitVector(vector)));
  for (const [place, vector] of kept.entries()) insert.run({ id, place, madeBy, vector });
}

/**
 * The ids of what a query finds, in its order: of one with words the items whose texts are nearest to it in meaning, nearest first,
 * then those that are not to be looked at, without a score. Of many items only the last changed are looked at. Throws what
 * `ItemIndex.embed` throws of the query itself.
 */
export async function searchIndexed(parts: Parts, owner: string, query: ItemQuery): Promise<ItemHit[]> {
  const { database, index } = parts;
  if (query.query === undefined) return await searchItems(database, owner, query);
  // First the query: where that fails, the items would, too.
  const [wanted = new Float32Array()] = await index.embed([query.query], AbortSignal.timeout(queryPatience));
  await embedItems(parts, { owner, prefix: query.prefix });
  return await nearest(database, owner, query, { unit: unitVector(wanted), madeBy: index.madeBy });
}

async function nearest(
  database: Database,
  owner: string,
  { prefix, filter = {}, limit, offset }: ItemQuery,
  { unit, madeBy }: { unit: Float32Array; madeBy: string },
): Promise<ItemHit[]> {
  const candidates = idsBelow(database, owner, prefix, { limit: mostLookedAt, offset: 0 });
  const hasFilter = Object.keys(filter).length > 0;
  const select = database.prepare("SELECT vector FROM item_vectors WHERE item = ? AND made_by = ?");
  let hits: ItemHit[] = [];
  for (let at = 0; at < candidates.length; at += comparedAtOnce) {
    if (at > 0) await nextTurn();
    const batch = candidates.slice(at, at + comparedAtOnce);
    const fitting = hasFilter ? matching(database, batch, filter) : batch;
    const scored = database.read(() =>
      fitting.map(({ id }) => {
        const rows = readRows(VectorRow, "item_vectors", select.all(id, madeBy));
        const scores = rows.flatMap(({ vector }) => (vector === null ? [] : [nearness(unit, floatsOf(vector))]));
        return scores.length === 0 ? { id } : { id, score: Math.max(...scores) };
      }),
    );
    hits = [...hits, ...scored].toSorted(byScore).slice(0, offset + limit);
  }
  return hits.slice(offset, offset + limit);
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** A copy, since the bytes of a row need not begin where numbers may. */
function floatsOf(bytes: Uint8Array): Float32Array {
  return new Float32Array(new Uint8Array(bytes).buffer);
}
