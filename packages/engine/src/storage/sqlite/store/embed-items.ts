import { z } from "zod";
import { isAppError } from "../../../errors/errors.ts";
import { type ItemIndex, nearness, textsToEmbed, unitVector } from "../../items/item-filter.ts";
import { JsonObject } from "../../records.ts";
import type { Database } from "../database/database.ts";
import { json, readRows } from "../../rows.ts";
import type { GroupCommit } from "../database/durable.ts";
import { byScore, idsBelow, isThere, type ItemHit, joined, matching, rangeOf, searchItems } from "./item-search.ts";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { ItemQuery } from "../../items/store-items.ts";

/** Items that are embedded before a query, where that is still to do, and milliseconds after which no request is begun for them. */
const [mostCaughtUp, catchUpTime] = [500, 15_000];
/** Items that are embedded with one request, and milliseconds for it. */
const [embeddedAtOnce, patience] = [20, 30_000];
/** Characters of a text that are left where the model refuses all of it: in any language less than models read at once. */
const cutLength = 5000;
/** What models say of a text that they do not take; what else goes wrong is not the item's. */
const refusals = ["api_error", "context_overflow", "invalid_parameter", "too_large"];

const PendingRow = z.object({
  id: z.number(),
  value: z.string(),
  parsed: json(JsonObject),
  indexed: json(z.union([z.literal(false), z.array(z.string()), z.null()])),
});
type PendingRow = z.infer<typeof PendingRow>;

const isPending = `indexed <> 'false' AND NOT EXISTS
  (SELECT 1 FROM item_vectors WHERE item = store_items.id AND made_by = @madeBy)`;
const pendingColumns = "id, value, value AS parsed, indexed";

/** Which items are to be embedded: those at these places, or those below a namespace, last changed first. */
type Wanted = { places: readonly { namespace: readonly string[]; key: string }[] } | { prefix: readonly string[] };

/** Where items are, and what embeds them. */
interface IndexedItems {
  database: Database;
  commits: GroupCommit;
  index: ItemIndex;
}

/** Items that are being embedded: those that the model has refused so far, and whether it has taken any other. */
interface Work extends IndexedItems {
  /** When no further request is begun, by the clock of `performance`. */
  until: number;
  refused: PendingRow[];
  takesOthers: boolean;
}

/** Why items were not embedded, and how many; `isOver`: it would be the same with all others. */
interface Failure {
  error: unknown;
  items: number;
  isOver: boolean;
}

/**
 * Embeds the items that have no vectors of this index. Whoever wrote them need not care: what fails is told, and the items
 * wait for the next query that looks for them. Those that a model refuses while it takes others are asked about no more.
 */
export async function embedItems(
  { database, commits, index }: IndexedItems,
  { owner, until = Infinity, ...wanted }: Wanted & { owner: string; until?: number },
): Promise<void> {
  const pending = pendingItems(database, owner, wanted, index.madeBy);
  const work: Work = { database, commits, index, until, refused: [], takesOthers: false };
  let [failed, reason]: [number, unknown] = [0, undefined];
  for (let at = 0; at < pending.length && performance.now() < until; at += embeddedAtOnce) {
    const failure = await embedBatch(work, pending.slice(at, at + embeddedAtOnce));
    if (failure === undefined) continue;
    failed += failure.isOver ? pending.length - at : failure.items;
    reason = failure.error;
    if (failure.isOver) break;
  }
  if (failed > 0) index.onFailure(reason, failed);
  if (!work.takesOthers || work.refused.length === 0) return;
  await commits.transaction(() => {
    for (const row of work.refused) keep(database, { row, vectors: [] }, index.madeBy);
  });
}

/** Embeds what is still to do below a namespace, before a query looks there. Those that look at once wait for the same work. */
type CatchUp = (items: IndexedItems, owner: string, prefix: readonly string[]) => Promise<void>;

/** For one store: work is shared by those that look for the same, and by nobody else. */
export function createCatchUp(): CatchUp {
  const underWay = new Map<string, Promise<void>>();
  return (items, owner, prefix) => {
    const key = JSON.stringify([owner, prefix]);
    const known = underWay.get(key);
    if (known !== undefined) return known;
    const until = performance.now() + catchUpTime;
    const work = embedItems(items, { owner, prefix, until }).finally(() => underWay.delete(key));
    underWay.set(key, work);
    return work;
  };
}

/** With one request, or where an item may be why that fails with one for each. */
async function embedBatch(work: Work, rows: readonly PendingRow[]): Promise<Failure | undefined> {
  const problem = await problemOf(embedTogether(work, rows));
  if (problem === undefined) return undefined;
  const failure = { error: problem.error, items: rows.length, isOver: !isRefusal(problem) && !isFault(problem) };
  const [row, ...others] = rows;
  if (failure.isOver || row === undefined) return failure;
  if (others.length === 0) return isRefusal(problem) ? await embedCut(work, row, failure) : failure;
  let [failed, faults]: [number, number] = [0, 0];
  for (const one of rows) {
    if (performance.now() >= work.until) return { ...failure, isOver: true };
    const alone = await embedBatch(work, [one]);
    if (alone?.isOver === true) return alone;
    if (alone === undefined) continue;
    failed += 1;
    if (isFault(alone)) faults += 1;
    failure.error = alone.error;
  }
  return failed === 0 ? undefined : { ...failure, items: failed, isOver: faults === rows.length };
}

/** An item that was refused, by how its texts begin. */
async function embedCut(work: Work, row: PendingRow, failure: Failure): Promise<Failure | undefined> {
  const isLong = textsToEmbed(row.parsed, row.indexed, work.index.fields).some(({ length }) => length > cutLength);
  const problem = isLong ? await problemOf(embedTogether(work, [row], cutLength)) : failure;
  if (problem === undefined) return undefined;
  if (isRefusal(problem)) work.refused.push(row);
  return { ...failure, error: problem.error };
}

async function embedTogether(work: Work, rows: readonly PendingRow[], longest = Infinity): Promise<void> {
  const { database, commits, index } = work;
  const texts = rows.map(({ parsed, indexed }) =>
    textsToEmbed(parsed, indexed, index.fields).map((text) => text.slice(0, longest).toWellFormed()),
  );
  const all = texts.flat();
  const vectors = all.length === 0 ? [] : await index.embed(all, AbortSignal.timeout(patience));
  if (all.length > 0) work.takesOthers = true;
  let taken = 0;
  const made = rows.map((row, place) => {
    const count = texts[place]?.length ?? 0;
    taken += count;
    return { row, vectors: vectors.slice(taken - count, taken) };
  });
  await commits.transaction(() => {
    for (const one of made) keep(database, one, index.madeBy);
  });
}

async function problemOf(work: Promise<void>): Promise<{ error: unknown } | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    return { error };
  }
}

function isRefusal({ error }: { error: unknown }): boolean {
  return isAppError(error) && refusals.includes(error.code);
}

/** Some servers break at a text that they should refuse. */
function isFault({ error }: { error: unknown }): boolean {
  return isAppError(error) && error.code === "server";
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

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

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
