import { z } from "zod";
import type { NamespaceQuery } from "../../items/store-items.ts";
import type { Database } from "../database/database.ts";
import { rangeOf, splitNamespace } from "./item-place.ts";
import { readRows } from "../database/rows.ts";

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
