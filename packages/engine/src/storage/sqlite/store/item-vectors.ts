import { setImmediate as nextTurn } from "node:timers/promises";
import { z } from "zod";
import { nearness, unitVector } from "../../items/item-index.ts";
import type { ItemQuery } from "../../items/store-items.ts";
import type { Database } from "../database/database.ts";
import type { CatchUp, IndexedItems } from "./embed-items.ts";
import { byScore, idsBelow, matching, searchItems, type ItemHit } from "./item-search.ts";
import { readRows } from "../database/rows.ts";

/** Items that a query by meaning looks at, the last changed. */
const mostLookedAt = 10_000;
/** Items that are compared at a time: a few milliseconds. */
const comparedAtOnce = 50;
/** Milliseconds until a query has to be embedded. */
const queryPatience = 15_000;

const VectorRow = z.object({ vector: z.instanceof(Uint8Array).nullable() });

/**
 * The ids of what a query finds, in its order: of one with words the items whose texts are nearest to it in meaning,
 * nearest first, then those that are not to be looked at, without a score. Of many items only the last changed are
 * looked at. Throws what `ItemIndex.embed` throws of the query itself.
 */
export async function searchIndexed(
  { catchUp, ...parts }: IndexedItems & { catchUp: CatchUp },
  owner: string,
  query: ItemQuery,
): Promise<ItemHit[]> {
  const { database, index } = parts;
  if (query.query === undefined) return await searchItems(database, owner, query);
  // First the query: where that fails, the items would, too.
  const [wanted = new Float32Array()] = await index.embed([query.query], AbortSignal.timeout(queryPatience));
  await catchUp(parts, owner, query.prefix);
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

/** A copy, since the bytes of a row need not begin where numbers may. */
function floatsOf(bytes: Uint8Array): Float32Array {
  return new Float32Array(new Uint8Array(bytes).buffer);
}
