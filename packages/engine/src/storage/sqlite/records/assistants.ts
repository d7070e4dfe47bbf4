import { AppError } from "../../../errors/errors.ts";
import { MissingAssistants, nextVersion } from "../../assistants.ts";
import type { AssistantPatch, AssistantQuery, AssistantStore } from "../../record-stores.ts";
import type { Assistant, JsonObject } from "../../records.ts";
import { AssistantRow, AssistantVersionRow, CountRow, parseRow, readRows, readRow } from "../../rows.ts";
import { type Database, isConstraint } from "../database/database.ts";
import type { GroupCommit } from "../database/durable.ts";

const columns =
  "assistant_id, owner, is_system, graph_id, config, context, metadata, version, name, description, created_at, updated_at";

const stored = `SELECT assistant_id, owner, is_system, graph_id, config, context, metadata, assistants.version, name,
    description, assistants.created_at, updated_at
  FROM assistants JOIN assistant_versions AS latest
    ON latest.assistant = assistants.id AND latest.version = assistants.version`;

/** The stored ones, and unchanged ones of the system. */
const everything = `
  WITH given AS (SELECT value AS one, value ->> '$.assistant_id' AS id FROM json_each(@system)),
  everything AS (
    ${stored} WHERE is_system = 0 OR assistant_id IN (SELECT id FROM given)
    UNION ALL
    SELECT id, NULL, 1, one ->> '$.graph_id', one -> '$.config', one -> '$.context', one -> '$.metadata',
      one ->> '$.version', one ->> '$.name', one ->> '$.description', one ->> '$.created_at', one ->> '$.updated_at'
    FROM given WHERE id NOT IN (SELECT assistant_id FROM assistants)
  )`;

/** Every way to sort, written out: no name from a client reaches SQL. */
const orders = {
  assistant_id: { asc: "assistant_id ASC", desc: "assistant_id DESC" },
  graph_id: { asc: "graph_id ASC, assistant_id ASC", desc: "graph_id DESC, assistant_id DESC" },
  created_at: { asc: "created_at ASC, assistant_id ASC", desc: "created_at DESC, assistant_id DESC" },
  updated_at: { asc: "updated_at ASC, assistant_id ASC", desc: "updated_at DESC, assistant_id DESC" },
  name: { asc: "name ASC, assistant_id ASC", desc: "name DESC, assistant_id DESC" },
} as const;

/** Texts and numbers by the names of a statement's parameters. */
type Parameters = Record<string, string | number>;

function condition({ owner, graph_id, name, metadata }: AssistantQuery): { where: string; parameters: Parameters } {
  const clauses: string[] = [];
  const parameters: Parameters = {};
  if (owner !== undefined) {
    clauses.push(`(is_system = 1 OR owner = @owner${owner.orphans ? " OR owner IS NULL" : ""})`);
    parameters["owner"] = owner.name;
  }
  if (graph_id !== undefined) {
    clauses.push("graph_id = @graph_id");
    parameters["graph_id"] = graph_id;
  }
  if (name !== undefined && name !== "") {
    clauses.push("instr(lower_case(name), lower_case(@name)) > 0");
    parameters["name"] = name;
  }
  if (metadata !== undefined && Object.keys(metadata).length > 0) {
    clauses.push("json_contains(metadata, @metadata) = 1");
    parameters["metadata"] = JSON.stringify(metadata);
  }
  return { where: clauses.length === 0 ? "" : `WHERE ${clauses.join(" AND ")}`, parameters };
}

function find(database: Database, assistantId: string): Assistant | undefined {
  return readRow(AssistantRow, "assistants", database.prepare(`${stored} WHERE assistant_id = ?`).get(assistantId));
}

function insert(database: Database, assistant: Assistant): void {
  try {
    database
      .prepare(
        `INSERT INTO assistants (assistant_id, owner, is_system, version, created_at, updated_at)
         VALUES (@assistant_id, @owner, @is_system, @version, @created_at, @updated_at)`,
      )
      .run({ ...onlyScalars(assistant), is_system: Number(assistant.is_system) });
  } catch (error) {
    if (isConstraint(error)) throw new AppError("conflict", "Assistant already exists");
    throw error;
  }
  insertVersion(database, assistant, assistant.created_at);
}

function insertVersion(database: Database, assistant: Assistant, created_at: string): void {
  database
    .prepare(
      `INSERT INTO assistant_versions (assistant, version, graph_id, name, description, config, context, metadata, created_at)
       SELECT id, @version, @graph_id, @name, @description, @config, @context, @metadata, @created_at
       FROM assistants WHERE assistant_id = @assistant_id`,
    )
    .run({ ...onlyScalars(assistant), created_at });
}

/** The fields as SQLite can hold them. */
function onlyScalars({ is_system: _flag, ...assistant }: Assistant) {
  const { config, context, metadata } = assistant;
  return {
    ...assistant,
    config: JSON.stringify(config),
    context: JSON.stringify(context),
    metadata: JSON.stringify(metadata),
  };
}

function use(database: Database, assistant: Pick<Assistant, "assistant_id" | "version" | "updated_at">): void {
  const { assistant_id, version, updated_at } = assistant;
  database
    .prepare("UPDATE assistants SET version = @version, updated_at = @updated_at WHERE assistant_id = @assistant_id")
    .run({ assistant_id, version, updated_at });
}

function addVersion(database: Database, given: Assistant, patch: AssistantPatch): Assistant {
  const known = find(database, given.assistant_id);
  if (known === undefined) insert(database, given);
  const assistant = known ?? given;
  const newest = database
    .prepare(
      `SELECT max(assistant_versions.version) AS count FROM assistant_versions
       JOIN assistants ON assistants.id = assistant WHERE assistant_id = ?`,
    )
    .get(assistant.assistant_id);
  const next = nextVersion(assistant, patch, parseRow(CountRow, "assistant_versions", newest).count);
  insertVersion(database, next, next.updated_at);
  use(database, next);
  return next;
}

function listVersions(
  database: Database,
  assistant_id: string,
  { metadata = {}, limit, offset }: { limit: number; offset: number; metadata?: JsonObject | undefined },
) {
  const rows = database
    .prepare(
      `SELECT assistant_id, graph_id, config, context, metadata, one.version, name, description, one.created_at
       FROM assistant_versions AS one JOIN assistants ON assistants.id = one.assistant
       WHERE assistant_id = @assistant_id AND json_contains(metadata, @metadata) = 1
       ORDER BY one.version DESC LIMIT @limit OFFSET @offset`,
    )
    .all({ assistant_id, metadata: JSON.stringify(metadata), limit, offset });
  return readRows(AssistantVersionRow, "assistant_versions", rows);
}

/** The assistants that users made, in SQLite. Filters by `json_contains`, which `createSessionStore` defines. */
export function createAssistantStore(database: Database, commits: GroupCommit): AssistantStore {
  database.raw.function("lower_case", { deterministic: true }, (text: unknown) => String(text).toLowerCase());
  const missing = new MissingAssistants();
  return {
    create: (assistant) =>
      commits.transaction(() => {
        insert(database, assistant);
        missing.added();
        return assistant;
      }),

    get: (assistantId) => missing.look(assistantId, async () => database.read(() => find(database, assistantId))),

    update: (assistant, patch) =>
      commits.transaction(() => {
        const next = addVersion(database, assistant, patch);
        missing.added();
        return next;
      }),

    setLatest: (assistant_id, version) =>
      commits.transaction(() => {
        const row = database
          .prepare(
            `SELECT 1 FROM assistant_versions JOIN assistants ON assistants.id = assistant
             WHERE assistant_id = @assistant_id AND assistant_versions.version = @version`,
          )
          .get({ assistant_id, version });
        if (row === undefined) return undefined;
        use(database, { assistant_id, version, updated_at: new Date().toISOString() });
        return find(database, assistant_id);
      }),

    versions: async (assistantId, query) => database.read(() => listVersions(database, assistantId, query)),

    delete: (assistantId) =>
      commits.transaction(
        () => database.prepare("DELETE FROM assistants WHERE assistant_id = ?").run(assistantId).changes > 0,
      ),

    search: async (query, system) =>
      database.read(() => {
        const { where, parameters } = condition(query);
        const given = { ...parameters, system: JSON.stringify(system) };
        const order = orders[query.sort_by ?? "created_at"][query.sort_order ?? "desc"];
        const rows = database
          .prepare(
            `${everything} SELECT ${columns} FROM everything ${where} ORDER BY ${order} LIMIT @limit OFFSET @offset`,
          )
          .all({ ...given, limit: query.limit, offset: query.offset });
        const total = database.prepare(`${everything} SELECT count(*) AS count FROM everything ${where}`).get(given);
        return {
          assistants: readRows(AssistantRow, "assistants", rows),
          total: parseRow(CountRow, "assistants", total).count,
        };
      }),
  };
}
