import { setImmediate as nextTurn } from "node:timers/promises";
import type { JsonObject } from "../records.ts";
import { matchesFilter, cosineSimilarity, scoreOf } from "./item-filter.ts";
import { type ContentRow, floatsOf, type ItemRows, rangeOf, splitNamespace } from "./item-rows.ts";
import type { ItemQuery, NamespaceQuery } from "./store-items.ts";

/** An item that was found, by its row. */
export interface ItemHit {
  id: number;
  score?: number | undefined;
}

/** Items that are looked into at a time: a few milliseconds. */
const batchSize = 200;

/** The ids of what a query finds, in its order. Many are looked through in small parts, so that others are served meanwhile. */
export async function searchItems(items: ItemRows, owner: string, query: ItemQuery): Promise<ItemHit[]> {
  const { filter = {}, query: words, limit, offset, prefix } = query;
  const hasFilter = Object.keys(filter).length > 0;
  if (!hasFilter && words === undefined) {
    return (await items.idsBelow(owner, rangeOf(prefix), { limit, offset })).map((id) => ({ id }));
  }
  const candidates = await items.idsBelow(owner, rangeOf(prefix), { offset: 0 });
  let hits: ItemHit[] = [];
  for (let at = 0; at < candidates.length; at += batchSize) {
    if (at > 0) await nextTurn();
    const contents = await items.contents(candidates.slice(at, at + batchSize));
    const found = contents.filter(({ value }) => !hasFilter || fits(value, filter));
    hits.push(...found.map((content) => hitOf(content, words)));
    if (words !== undefined) hits = hits.toSorted(byScore).slice(0, offset + limit);
    else if (hits.length >= offset + limit) break;
  }
  return hits.slice(offset, offset + limit);
}

function fits(value: unknown, filter: JsonObject): boolean {
  return typeof value === "object" && value !== null && matchesFilter(value, filter);
}

function hitOf({ id, value, indexed }: ContentRow, words: string | undefined): ItemHit {
  return words === undefined ? { id } : { id, score: scoreOf(value, indexed, words) };
}

/** What fits best comes first, what has no score last; else the order stays. */
function byScore(one: ItemHit, other: ItemHit): number {
  return (other.score ?? -2) - (one.score ?? -2);
}

/** Items that a query by meaning looks at, the last changed. */
const maxLookedAt = 10_000;
/** Items compared before other work may run: a few milliseconds. */
const comparedPerBatch = 50;

/**
 * The ids of the items whose texts are nearest to a vector, nearest first, then those that are not to be looked at,
 * without a score. Of many items only the last changed are looked at.
 */
export async function nearestItems(
  items: ItemRows,
  owner: string,
  { prefix, filter = {}, limit, offset }: ItemQuery,
  { unit, madeBy }: { unit: Float32Array; madeBy: string },
): Promise<ItemHit[]> {
  const candidates = await items.idsBelow(owner, rangeOf(prefix), { limit: maxLookedAt, offset: 0 });
  const hasFilter = Object.keys(filter).length > 0;
  let hits: ItemHit[] = [];
  for (let at = 0; at < candidates.length; at += comparedPerBatch) {
    if (at > 0) await nextTurn();
    const batch = candidates.slice(at, at + comparedPerBatch);
    const contents = hasFilter ? await items.contents(batch) : [];
    const fitting = hasFilter ? contents.filter(({ value }) => fits(value, filter)).map(({ id }) => id) : batch;
    const best = new Map<number, number>();
    for (const { item, vector } of await items.vectors(fitting, madeBy)) {
      if (vector === null) continue;
      best.set(item, Math.max(best.get(item) ?? -Infinity, cosineSimilarity(unit, floatsOf(vector))));
    }
    const scored = fitting.map((id) => ({ id, score: best.get(id) }));
    hits = [...hits, ...scored].toSorted(byScore).slice(0, offset + limit);
  }
  return hits.slice(offset, offset + limit);
}

/** Whether the labels stand in the namespace from `start` on; `*` is any label. */
function standsAt(namespace: readonly string[], labels: readonly string[], start: number): boolean {
  if (start < 0 || start + labels.length > namespace.length) return false;
  return labels.every((label, at) => label === "*" || label === namespace[start + at]);
}

function compare(one: readonly string[], other: readonly string[]): number {
  for (const [at, label] of one.entries()) {
    const against = other[at];
    if (against === undefined) return 1;
    if (label !== against) return label < against ? -1 : 1;
  }
  return one.length - other.length;
}

/** The namespaces that hold something, as asked for. */
export async function listNamespaces(items: ItemRows, owner: string, query: NamespaceQuery): Promise<string[][]> {
  const { prefix = [], suffix = [], maxDepth = Infinity, limit, offset } = query;
  const wildcard = prefix.indexOf("*");
  const found = await items.namespaces(owner, rangeOf(wildcard === -1 ? prefix : prefix.slice(0, wildcard)));
  const cut = new Map<string, string[]>();
  for (const namespace of found.map(splitNamespace)) {
    if (!standsAt(namespace, prefix, 0) || !standsAt(namespace, suffix, namespace.length - suffix.length)) continue;
    const shown = namespace.slice(0, maxDepth);
    cut.set(shown.join("."), shown);
  }
  return [...cut.values()].toSorted(compare).slice(offset, offset + limit);
}
