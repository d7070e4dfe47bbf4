import { clusterDate } from "../../../concurrency/cluster-time.ts";
import { AppError } from "../../../errors/errors.ts";
import { MissingAssistants, nextVersion, searchable } from "../../assistants.ts";
import type { Cluster } from "../../cluster.ts";
import type { AssistantQuery, AssistantStore } from "../../record-stores.ts";
import { Assistant } from "../../records.ts";
import { AssistantRow, AssistantVersionRow, CountRow, json, parseRow, readRow, readRows } from "../../rows.ts";
import type { PostgresDatabase, Statements, Values } from "../database/database.ts";
import { keysContaining, shortFilter } from "./containment.ts";

/** Names are JSON texts, as what users write is: PostgreSQL takes no NUL and no half of a surrogate pair. */
const texts = { name: json(Assistant.shape.name), description: json(Assistant.shape.description) };
const StoredRow = AssistantRow.extend(texts);
const StoredVersionRow = AssistantVersionRow.extend(texts);

const stored = `SELECT assistant_id, owner, is_system, graph_id, config, context, metadata, assistants.version, name,
    found_by, description, assistants.created_at, assistants.updated_at
  FROM assistants JOIN assistant_versions AS latest
    ON latest.assistant = assistants.id AND latest.version = assistants.version`;

/** The stored ones, and unchanged ones of the system: the columns of these are $1 to $11. */
const everything = `
  WITH given AS (
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
      $9::int[], $10::text[], $11::text[]) AS rows
      (assistant_id, graph_id, name, found_by, description, config, context, metadata, version, created_at, updated_at)),
  everything AS (
    ${stored} WHERE is_system = 0 OR assistant_id = ANY ($1::text[])
    UNION ALL
    SELECT assistant_id, NULL, 1, graph_id, config, context, metadata, version, name, found_by, description, created_at,
      updated_at
    FROM given WHERE NOT EXISTS (SELECT FROM assistants WHERE assistants.assistant_id = given.assistant_id))`;

/** A name without its quotation marks: these would come into the order. */
const nameOrder = `left(substr(name, 2), -1) COLLATE "C"`;

/** Every way to sort, written out: no name from a client reaches SQL. */
const orders = {
  assistant_id: `assistant_id COLLATE "C"`,
  graph_id: `graph_id COLLATE "C"`,
  created_at: `created_at COLLATE "C"`,
  updated_at: `updated_at COLLATE "C"`,
  name: nameOrder,
} as const;

/** The columns of a version: graph_id, name, found_by, description, config, context, metadata, version. */
function versionOf({ graph_id, name, description, config, context, metadata, version }: Assistant) {
  const [configText, contextText, metadataText] = [config, context, metadata].map((value) => JSON.stringify(value));
  return [
    graph_id,
    JSON.stringify(name),
    searchable(name),
    JSON.stringify(description),
    configText ?? "{}",
    contextText ?? "{}",
    metadataText ?? "{}",
    version,
  ] as const;
}

/** The conditions of a query; its values come after those that `known` counts. */
function condition({ owner, graph_id, name, metadata }: AssistantQuery, known: number) {
  const clauses: string[] = [];
  const values: string[] = [];
  const add = (value: string, clause: (parameter: string) => string): void => {
    values.push(value);
    clauses.push(clause(`$${known + values.length}`));
  };
  if (owner !== undefined) {
    add(owner.name, (its) => `(is_system = 1 OR owner = ${its}${owner.orphans ? " OR owner IS NULL" : ""})`);
  }
  if (graph_id !== undefined) add(graph_id, (its) => `graph_id = ${its}`);
  if (name !== undefined && name !== "") add(searchable(name), (its) => `strpos(found_by, ${its}) > 0`);
  if (metadata !== undefined && Object.keys(metadata).length > 0) {
    add(shortFilter(metadata), (its) => `millrace_json_v1(metadata) @> millrace_json_v1(${its})`);
  }
  return { clauses, values };
}

async function find(statements: Statements, assistantId: string): Promise<Assistant | undefined> {
  const [row] = await statements.read(`${stored} WHERE assistant_id = $1`, [assistantId]);
  return readRow(StoredRow, "assistants", row);
}

const insertSql = `WITH added AS (
    INSERT INTO assistants (assistant_id, owner, is_system, created_at, updated_at, version)
    VALUES ($1, $2, $3, $4, $5, $13) ON CONFLICT (assistant_id) DO NOTHING RETURNING id)
  INSERT INTO assistant_versions
    (assistant, created_at, graph_id, name, found_by, description, config, context, metadata, version)
  SELECT id, $4, $6, $7, $8, $9, $10, $11, $12, $13 FROM added`;

/** False where the id is in use. */
async function insert(statements: Statements, assistant: Assistant): Promise<boolean> {
  const { assistant_id, owner, is_system, created_at, updated_at } = assistant;
  const values: Values = [assistant_id, owner, Number(is_system), created_at, updated_at, ...versionOf(assistant)];
  return (await statements.change(insertSql, values)) > 0;
}

/** Locks the row of an assistant, which is made where there is none; what is read afterwards is its newest version. */
async function lock(statements: Statements, assistant: Assistant): Promise<void> {
  const sql = "SELECT FROM assistants WHERE assistant_id = $1 FOR UPDATE";
  const lockRow = async (): Promise<boolean> => (await statements.rows(sql, [assistant.assistant_id])).length > 0;
  // Where it cannot be made, another request has made it since.
  if (!(await lockRow()) && !(await insert(statements, assistant))) await lockRow();
}

const newestSql = `SELECT max(assistant_versions.version) AS count FROM assistant_versions
  JOIN assistants ON assistants.id = assistant WHERE assistant_id = $1`;
const addSql = `WITH used AS (
    UPDATE assistants SET version = $10, updated_at = $2 WHERE assistant_id = $1 RETURNING id)
  INSERT INTO assistant_versions
    (assistant, created_at, graph_id, name, found_by, description, config, context, metadata, version)
  SELECT id, $2, $3, $4, $5, $6, $7, $8, $9, $10 FROM used`;

async function search(
  database: Statements,
  query: AssistantQuery,
  system: readonly Assistant[],
): ReturnType<AssistantStore["search"]> {
  const versions = system.map(versionOf);
  const given: Values = [
    system.map(({ assistant_id }) => assistant_id),
    ...Array.from({ length: 8 }, (_, column) => versions.map((version) => version[column] ?? null)),
    system.map(({ created_at }) => created_at),
    system.map(({ updated_at }) => updated_at),
  ];
  const { clauses, values: asked } = condition(query, given.length);
  const values: Values[number][] = [...given, ...asked];
  const ids = await keysContaining(database, query.metadata, () => {
    const sql = `${everything} SELECT assistant_id AS key, metadata FROM everything WHERE ${clauses.join(" AND ")}`;
    return { sql, values: [...values] };
  });
  if (ids !== undefined) clauses.push(`assistant_id = ANY ($${values.push(ids)}::text[])`);
  const where = clauses.length === 0 ? "" : `WHERE ${clauses.join(" AND ")}`;
  const direction = query.sort_order === "asc" ? "ASC" : "DESC";
  const order = `${orders[query.sort_by ?? "created_at"]} ${direction}, assistant_id COLLATE "C" ${direction}`;
  const place = values.length;
  const [rows, [total]] = await Promise.all([
    database.read(
      `${everything} SELECT * FROM everything ${where} ORDER BY ${order} LIMIT $${place + 1} OFFSET $${place + 2}`,
      [...values, query.limit, query.offset],
    ),
    database.read(`${everything} SELECT count(*) AS count FROM everything ${where}`, values),
  ]);
  return {
    assistants: readRows(StoredRow, "assistants", rows),
    total: parseRow(CountRow, "assistants", total).count,
  };
}

/** The assistants that users made, in PostgreSQL. */
export function createAssistantStore(database: PostgresDatabase, cluster: Cluster): AssistantStore {
  const missing = new MissingAssistants(cluster);
  return {
    async create(assistant) {
      if (!(await insert(database, assistant))) throw new AppError("conflict", "Assistant already exists");
      missing.added();
      return assistant;
    },

    get: (assistantId) => missing.look(assistantId, () => find(database, assistantId)),

    async update(given, patch) {
      const next = await database.transaction(async (statements) => {
        await lock(statements, given);
        const known = await find(statements, given.assistant_id);
        const [row] = await statements.rows(newestSql, [given.assistant_id]);
        const version = nextVersion(known ?? given, patch, parseRow(CountRow, "assistant_versions", row).count);
        await statements.change(addSql, [version.assistant_id, version.updated_at, ...versionOf(version)]);
        return version;
      });
      missing.added();
      return next;
    },

    async setLatest(assistantId, version) {
      const sql = `UPDATE assistants SET version = $2, updated_at = $3 WHERE assistant_id = $1
        AND EXISTS (SELECT FROM assistant_versions WHERE assistant = assistants.id AND assistant_versions.version = $2)`;
      const changed = await database.change(sql, [assistantId, version, clusterDate()]);
      return changed === 0 ? undefined : await find(database, assistantId);
    },

    async versions(assistantId, { metadata = {}, limit, offset }) {
      const from = `FROM assistant_versions AS one JOIN assistants ON assistants.id = one.assistant
        WHERE assistant_id = $1 AND millrace_json_v1(metadata) @> millrace_json_v1($2)`;
      const asked = [assistantId, shortFilter(metadata)];
      const found = await keysContaining(database, metadata, () => {
        return { sql: `SELECT one.version::text AS key, metadata ${from}`, values: asked };
      });
      const sql = `SELECT assistant_id, graph_id, config, context, metadata, one.version, name, description, one.created_at
        ${from} AND ($5::int[] IS NULL OR one.version = ANY ($5::int[])) ORDER BY one.version DESC LIMIT $3 OFFSET $4`;
      const values = [...asked, limit, offset, found?.map(Number) ?? null];
      return readRows(StoredVersionRow, "assistant_versions", await database.read(sql, values));
    },

    delete: async (assistantId) =>
      (await database.change("DELETE FROM assistants WHERE assistant_id = $1", [assistantId])) > 0,

    search: (query, system) => search(database, query, system),
  };
}
