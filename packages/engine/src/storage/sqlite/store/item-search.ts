import { setImmediate as nextTurn } from "node:timers/promises";
import { z } from "zod";
import { matchesFilter, scoreOf } from "../../items/item-filter.ts";
import type { JsonObject } from "../../records.ts";
import type { ItemQuery, NamespaceQuery } from "../../items/store-items.ts";
import type { Database } from "../database/database.ts";
import { json, parseRow, readRows } from "../../rows.ts";

/** An item that was found, by its row. */
export interface ItemHit {
  id: number;
  score?: number | undefined;
}

/** Items that are looked into at a time: a few milliseconds. */
const batchSize = 200;

const IdRow = z.object({ id: z.number() });
const Content = z.object({
  id: z.number(),
  value: json(z.unknown()),
  indexed: json(z.union([z.literal(false), z.array(z.string()), z.null()])),
});
type Content = z.infer<typeof Content>;

/** What has expired is not there any more, whether it was removed yet or not. */
export const isThere = "owner = @owner AND (expires_at IS NULL OR expires_at > @now)";
const newestFirst = "ORDER BY updated_at DESC, id DESC";

/** The ids of what a query finds, in its order. Many are looked through in small parts, so that others are served meanwhile. */
export async function searchItems(database: Database, owner: string, query: ItemQuery): Promise<ItemHit[]> {
  const { filter = {}, query: words, limit, offset } = query;
  const hasFilter = Object.keys(filter).length > 0;
  if (!hasFilter && words === undefined) return idsBelow(database, owner, query.prefix, { limit, offset });
  const candidates = idsBelow(database, owner, query.prefix, { limit: -1, offset: 0 });
  let hits: ItemHit[] = [];
  for (let at = 0; at < candidates.length; at += batchSize) {
    if (at > 0) await nextTurn();
    const contents = contentsOf(database, candidates.slice(at, at + batchSize));
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

/** Of these items those that a filter lets through. */
export function matching(database: Database, hits: readonly ItemHit[], filter: JsonObject): ItemHit[] {
  return contentsOf(database, hits).flatMap(({ id, value }) => (fits(value, filter) ? [{ id }] : []));
}

function hitOf({ id, value, indexed }: Content, words: string | undefined): ItemHit {
  return words === undefined ? { id } : { id, score: scoreOf(value, indexed, words) };
}

/** What fits best comes first, what has no score last; else the order stays. */
export function byScore(one: ItemHit, other: ItemHit): number {
  return (other.score ?? -2) - (one.score ?? -2);
}

/** The ids of the items whose namespace begins so, last changed first. */
export function idsBelow(
  database: Database,
  owner: string,
  prefix: readonly string[],
  page: { limit: number; offset: number },
): ItemHit[] {
  const range = rangeOf(prefix);
  const inRange = range === undefined ? "" : "AND namespace >= @from AND namespace < @to";
  const sql = `SELECT id FROM store_items WHERE ${isThere} ${inRange} ${newestFirst} LIMIT @limit OFFSET @offset`;
  const now = new Date().toISOString();
  return database.read(() =>
    readRows(IdRow, "store_items", database.prepare(sql).all({ owner, now, ...range, ...page })),
  );
}

/** What stands in items, in the order of their ids; without those that are gone meanwhile. */
function contentsOf(database: Database, hits: readonly ItemHit[]): Content[] {
  const select = database.prepare("SELECT id, value, indexed FROM store_items WHERE id = ?");
  return database.read(() =>
    hits.flatMap(({ id }) => {
      const row = select.get(id);
      return row === undefined ? [] : [parseRow(Content, "store_items", row)];
    }),
  );
}

const NamespaceRow = z.object({ namespace: z.string().transform(splitNamespace) });

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
export function listNamespaces(database: Database, owner: string, query: NamespaceQuery): string[][] {
  const { prefix = [], suffix = [], maxDepth = Infinity, limit, offset } = query;
  const wildcard = prefix.indexOf("*");
  const range = rangeOf(wildcard === -1 ? prefix : prefix.slice(0, wildcard));
  const inRange = range === undefined ? "" : "AND namespace >= @from AND namespace < @to";
  const rows = readRows(
    NamespaceRow,
    "store_items",
    database
      .prepare(
        `SELECT DISTINCT namespace FROM store_items
         WHERE owner = @owner AND (expires_at IS NULL OR expires_at > @now) ${inRange}`,
      )
      .all({ owner, now: new Date().toISOString(), ...range }),
  );
  const cut = new Map<string, string[]>();
  for (const { namespace } of rows) {
    if (!standsAt(namespace, prefix, 0) || !standsAt(namespace, suffix, namespace.length - suffix.length)) continue;
    const shown = namespace.slice(0, maxDepth);
    cut.set(shown.join("."), shown);
  }
  return [...cut.values()].toSorted(compare).slice(offset, offset + limit);
}

/** A namespace as it is stored: each label with a dot behind it, so that what is below it begins with its text. */
export function joined(labels: readonly string[]): string {
  return labels.map((label) => `${label}.`).join("");
}

/** The labels of a stored namespace; a label holds no dot. */
export function splitNamespace(text: string): string[] {
  return text.split(".").slice(0, -1);
}

/** Between which texts all namespaces lie that begin with these labels; `undefined` for no labels, which all begin with. */
export function rangeOf(prefix: readonly string[]): { from: string; to: string } | undefined {
  if (prefix.length === 0) return undefined;
  const from = joined(prefix);
  // The character after the dot.
  return { from, to: `${from.slice(0, -1)}/` };
}
