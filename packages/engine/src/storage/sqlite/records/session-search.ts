import type { JsonObject } from "../../records.ts";
import type { SessionQuery } from "../../storage.ts";
import { contains } from "../../items/contains.ts";
import type { Database } from "../database/database.ts";

/** The id of a session's newest state: they are in the order of time. */
const newestState = `(SELECT max(checkpoint_rows.id) FROM checkpoint_threads
  JOIN checkpoint_namespaces ON checkpoint_namespaces.thread = checkpoint_threads.key AND ns = ''
  JOIN checkpoint_rows ON checkpoint_rows.namespace = checkpoint_namespaces.key
  WHERE thread_id = sessions.session_id)`;

/** Every way to sort, written out: the statements stay a fixed set and no name from a client reaches SQL. */
const orders = {
  thread_id: { asc: "session_id ASC", desc: "session_id DESC" },
  status: { asc: "status ASC, session_id ASC", desc: "status DESC, session_id DESC" },
  created_at: { asc: "created_at ASC, id ASC", desc: "created_at DESC, id DESC" },
  updated_at: { asc: "updated_at ASC, id ASC", desc: "updated_at DESC, id DESC" },
  state_updated_at: { asc: `${newestState} ASC, id ASC`, desc: `${newestState} DESC, id DESC` },
} as const;

/** The order a query asks for, as SQL; newest first by default. */
export function searchOrder(query: SessionQuery): string {
  return orders[query.sort_by ?? "created_at"][query.sort_order ?? "desc"];
}

/** How many entries of a metadata filter SQLite compares by itself; few, so that the statements stay a small set. */
const plainEntries = 3;

/** Keys of the metadata that have an index of their own, with what stands in it: SQLite uses it for these very words. */
const indexed = new Map([["background_of", "CASE WHEN json_valid(metadata) THEN metadata ->> '$.background_of' END"]]);

/** Whether SQLite's JSON compares this text as JavaScript does: no broken surrogates, no zero that ends it early. */
function isPlain(text: unknown): text is string {
  return typeof text === "string" && text.isWellFormed() && !text.includes("\0");
}

/**
 * The condition for a metadata filter. Texts at the top level (`graph_id`, an owner) are compared by SQLite, which is
 * three times as fast over 10,000 sessions; the rest by `json_contains`.
 */
function metadataCondition(filter: JsonObject): { clauses: string[]; parameters: Record<string, string> } {
  const clauses: string[] = [];
  const parameters: Record<string, string> = {};
  const rest: [string, unknown][] = [];
  for (const [key, value] of Object.entries(filter)) {
    const place = clauses.length;
    if (place === plainEntries || !isPlain(key) || !isPlain(value)) {
      rest.push([key, value]);
      continue;
    }
    const ofIndex = indexed.get(key);
    const isThere = `EXISTS (SELECT 1 FROM json_each(metadata) WHERE key = @key${place} AND atom = @value${place})`;
    // By the index alone the text of an object would be taken for a text.
    clauses.push(ofIndex === undefined ? isThere : `(${ofIndex} = @value${place} AND ${isThere})`);
    parameters[`key${place}`] = key;
    parameters[`value${place}`] = value;
  }
  if (rest.length > 0) {
    clauses.push("json_contains(metadata, @metadata) = 1");
    parameters["metadata"] = JSON.stringify(Object.fromEntries(rest));
  }
  return { clauses, parameters };
}

/** The rows' condition for a query and its parameters. Only what is asked for is in it, so that the indexes serve. */
export function searchCondition(query: SessionQuery): { where: string; parameters: Record<string, string> } {
  const { clauses, parameters } = metadataCondition(query.metadata ?? {});
  if (query.ids !== undefined) {
    clauses.push("session_id IN (SELECT value FROM json_each(@ids))");
    parameters["ids"] = JSON.stringify(query.ids);
  }
  if (query.status !== undefined) {
    clauses.push("status = @status");
    parameters["status"] = query.status;
  }
  if (query.owner !== undefined) {
    clauses.push(query.owner.orphans ? "(owner = @owner OR owner IS NULL)" : "owner = @owner");
    parameters["owner"] = query.owner.name;
  }
  return { where: clauses.length === 0 ? "" : `WHERE ${clauses.join(" AND ")}`, parameters };
}

/**
 * Makes `json_contains(value, filter)` known to SQLite: 1 when the JSON text `value` contains `filter`. A query has one
 * filter for all rows, so its last parse is kept.
 */
export function defineContains(database: Database): void {
  let lastText = "";
  let lastFilter: unknown;
  database.raw.function("json_contains", { deterministic: true }, (value: unknown, filter: unknown) => {
    if (typeof value !== "string" || typeof filter !== "string") return 0;
    if (filter !== lastText) {
      lastFilter = JSON.parse(filter);
      lastText = filter;
    }
    return contains(JSON.parse(value), lastFilter) ? 1 : 0;
  });
}
