import { isAppError } from "../../errors/errors.ts";
import { type ItemIndex, textsToEmbed, unitVector } from "./item-filter.ts";
import { bytesOf, type ItemRows, type ItemVectors, type PendingRow, type PendingQuery } from "./item-rows.ts";
import { type ItemHit, nearestItems, searchItems } from "./item-search.ts";
import type { ItemQuery } from "./store-items.ts";

/** Maximum pending items embedded before a query, and milliseconds after which no further request is sent for them. */
const [maxCaughtUp, catchUpTime] = [500, 15_000];
/** Items embedded per request, and its timeout in milliseconds. */
const [batchSize, patience] = [20, 30_000];
/** Characters of a text that are embedded if the model refuses the whole text: below every model's limit in any language. */
const cutLength = 5000;
/** What models say of a text that they do not take; what else goes wrong is not the item's. */
const refusals = ["api_error", "context_overflow", "invalid_parameter", "too_large"];

/** Where items are, and what embeds them. */
interface IndexedItems {
  items: ItemRows;
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
 * Embeds the items that have no vectors of this index. Writers do not see failures: those go to `onFailure`, and the
 * items wait for the next query over them. Items that a model refuses while it accepts others are not tried again.
 */
export async function embedItems(
  { items, index }: IndexedItems,
  { owner, until = Infinity, ...wanted }: PendingQuery & { owner: string; until?: number },
): Promise<void> {
  const pending = await items.pending(owner, wanted, index.madeBy);
  const work: Work = { items, index, until, refused: [], takesOthers: false };
  let [failed, reason]: [number, unknown] = [0, undefined];
  for (let at = 0; at < pending.length && performance.now() < until; at += batchSize) {
    const failure = await embedBatch(work, pending.slice(at, at + batchSize));
    if (failure === undefined) continue;
    failed += failure.isOver ? pending.length - at : failure.items;
    reason = failure.error;
    if (failure.isOver) break;
  }
  if (failed > 0) index.onFailure(reason, failed);
  if (!work.takesOthers || work.refused.length === 0) return;
  await items.keepVectors(
    work.refused.map((row) => madeOf(row, [])),
    index.madeBy,
  );
}

/** Embeds what is still to do below a namespace, before a query looks there. Those that look at once wait for the same work. */
type CatchUp = (indexed: IndexedItems, owner: string, prefix: readonly string[]) => Promise<void>;

/** For one store: callers that look for the same items share the work. */
export function createPendingEmbedder(): CatchUp {
  const underWay = new Map<string, Promise<void>>();
  return (indexed, owner, prefix) => {
    const key = JSON.stringify([owner, prefix]);
    const known = underWay.get(key);
    if (known !== undefined) return known;
    const until = performance.now() + catchUpTime;
    const work = embedItems(indexed, { owner, prefix, limit: maxCaughtUp, until }).finally(() => underWay.delete(key));
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

async function embedTogether(work: Work, rows: readonly PendingRow[], maxLength = Infinity): Promise<void> {
  const { items, index } = work;
  const texts = rows.map(({ parsed, indexed }) =>
    textsToEmbed(parsed, indexed, index.fields).map((text) => text.slice(0, maxLength).toWellFormed()),
  );
  const all = texts.flat();
  const vectors = all.length === 0 ? [] : await index.embed(all, AbortSignal.timeout(patience));
  if (all.length > 0) work.takesOthers = true;
  let taken = 0;
  const made = rows.map((row, place) => {
    const count = texts[place]?.length ?? 0;
    taken += count;
    return madeOf(row, vectors.slice(taken - count, taken));
  });
  await items.keepVectors(made, index.madeBy);
}

/** One without texts gets an empty vector: it was looked at. */
function madeOf(row: PendingRow, vectors: readonly Float32Array[]): ItemVectors {
  return { row, vectors: vectors.length === 0 ? [null] : vectors.map((vector) => bytesOf(unitVector(vector))) };
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

/** Milliseconds until a query has to be embedded. */
const queryPatience = 15_000;

/**
 * The ids of what a query finds, in its order: of one with words the items whose texts are nearest to it in meaning; see
 * `nearestItems`. Throws what `ItemIndex.embed` throws of the query itself.
 */
export async function searchIndexed(
  { catchUp, items, index }: IndexedItems & { catchUp: CatchUp },
  owner: string,
  query: ItemQuery,
): Promise<ItemHit[]> {
  if (query.query === undefined) return await searchItems(items, owner, query);
  // First the query: where that fails, the items would, too.
  const [wanted = new Float32Array()] = await index.embed([query.query], AbortSignal.timeout(queryPatience));
  await catchUp({ items, index }, owner, query.prefix);
  return await nearestItems(items, owner, query, { unit: unitVector(wanted), madeBy: index.madeBy });
}
