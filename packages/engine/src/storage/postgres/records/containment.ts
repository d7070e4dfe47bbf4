import { z } from "zod";
import { contains } from "../../items/contains.ts";
import type { JsonObject } from "../../records.ts";
import { readRows } from "../../rows.ts";
import type { Statements, Values } from "../database/database.ts";

/** So many elements of a list in a filter PostgreSQL compares with all of the list that is searched. */
const maxElements = 20;

/** The filter with its lists cut short, and those within them empty: what contains the whole contains this. */
function cut(value: unknown, isInList = false): unknown {
  if (Array.isArray(value)) return isInList ? [] : value.slice(0, maxElements).map((element) => cut(element, true));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, cut(part, isInList)]));
}

/** As much of a filter, as JSON, as PostgreSQL compares in a short time: it compares lists element by element, in pairs. */
export function shortFilter(filter: JsonObject): string {
  return JSON.stringify(cut(filter));
}

/** Whether PostgreSQL can compare all of the filter. */
function isShort(filter: JsonObject): boolean {
  return shortFilter(filter) === JSON.stringify(filter);
}

const Candidate = z.object({ key: z.string(), metadata: z.string().transform((text): unknown => JSON.parse(text)) });

/**
 * Which rows contain the whole filter, where PostgreSQL compares only a part of it; else `undefined`. The statement finds
 * those that contain the part, with `key` and `metadata`. Throws `too_large` as SQLite does, for which `contains` compares.
 */
export async function keysContaining(
  database: Statements,
  filter: JsonObject | undefined,
  find: () => { sql: string; values: Values },
): Promise<string[] | undefined> {
  if (filter === undefined || isShort(filter)) return undefined;
  const { sql, values } = find();
  const rows = readRows(Candidate, "metadata", await database.read(sql, values));
  return rows.flatMap(({ key, metadata }) => (contains(metadata, filter) ? key : []));
}
