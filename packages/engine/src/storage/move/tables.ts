import { z } from "zod";
import { AppError } from "../../errors/errors.ts";
import { searchable } from "../assistants.ts";
import { json, parseRow, packId } from "../rows.ts";

/** A value of a row that moves, as PostgreSQL has it. */
export type MovedValue = string | number | boolean | null | Uint8Array;
/** A row that moves: its values in the order of the columns of its `Layout`. */
export type MovedRow = readonly MovedValue[];

/** A table that both databases have. Columns of one name are the same, unless it is said here. */
interface MovedTable {
  name: string;
  /** What its rows are ordered by, the same way in both; an index of both begins with it. */
  key: readonly string[];
  /** Columns that are JSON texts in PostgreSQL, which takes no NUL, and plain ones in SQLite. */
  json?: readonly string[];
  /** Ids that are texts in PostgreSQL, and in SQLite where they are UUIDs their bytes. */
  ids?: readonly string[];
  /** A column of SQLite that holds a text or bytes, and is two of these names in PostgreSQL. */
  split?: string;
  /** A column of PostgreSQL that is the `rowid` in SQLite. */
  rowid?: string;
  /** A column of SQLite that nothing refers to. */
  dropped?: string;
  /** Columns that only PostgreSQL has, made of the others. */
  derived?: Readonly<Record<string, (row: Record<string, MovedValue>) => MovedValue>>;
}

const NamedRow = z.object({ name: json(z.string()) });
const RunRow = z.object({ kwargs: json(z.object({ temporary: z.boolean().default(false) })) });

/** Every table with what outlives the process, each behind those that it refers to. */
export const movedTables: readonly MovedTable[] = [
  { name: "sessions", key: ["id"] },
  { name: "session_ttls", key: ["session"] },
  { name: "namespaces", key: ["owner", "namespace"] },
  {
    name: "runs",
    key: ["id"],
    json: ["cancel_reason"],
    derived: { is_temporary: (row) => parseRow(RunRow, "runs", row).kwargs.temporary },
  },
  { name: "run_usage", key: ["run"] },
  { name: "run_events", key: ["run", "last_id"], split: "payload" },
  { name: "tool_calls", key: ["session", "tool_call_id"], rowid: "id" },
  { name: "operations", key: ["id"] },
  { name: "operation_contents", key: ["operation", "hash"] },
  { name: "approvals", key: ["id"] },
  { name: "grants", key: ["id"], json: ["path_pattern"] },
  { name: "model_texts", key: ["hash"] },
  { name: "model_requests", key: ["id"], split: "data" },
  { name: "owner_usage", key: ["owner", "day"] },
  { name: "model_usage", key: ["owner", "day", "model"] },
  { name: "crons", key: ["id"] },
  { name: "webhooks", key: ["webhook_id"], json: ["url"] },
  { name: "tasks", key: ["id"], json: ["title"] },
  { name: "assistants", key: ["id"] },
  {
    name: "assistant_versions",
    key: ["assistant", "version"],
    json: ["name", "description"],
    derived: { found_by: (row) => searchable(parseRow(NamedRow, "assistant_versions", row).name) },
  },
  { name: "store_items", key: ["id"] },
  { name: "item_vectors", key: ["item", "place"] },
  { name: "indexed_files", key: ["file"] },
  { name: "file_pieces", key: ["piece"], json: ["text"] },
  { name: "checkpoint_threads", key: ["key"] },
  { name: "checkpoint_namespaces", key: ["key"] },
  { name: "checkpoint_runs", key: ["key"] },
  { name: "checkpoint_rows", key: ["key"], ids: ["id", "parent"] },
  { name: "checkpoint_writes", key: ["checkpoint", "task", "part"], ids: ["task"], split: "data" },
  { name: "checkpoint_blobs", key: ["key"], split: "data" },
  { name: "checkpoint_items", key: ["thread", "first"], split: "data", dropped: "key" },
];

/** A column as PostgreSQL has it. */
export interface PostgresColumn {
  name: string;
  type: string;
  isNullable: boolean;
  isIdentity: boolean;
  hasDefault: boolean;
}

/** How the rows of a table move. */
export interface Layout {
  table: MovedTable;
  name: string;
  key: readonly string[];
  /** What a row consists of. */
  columns: readonly PostgresColumn[];
  /** The columns of SQLite. */
  sqlite: readonly string[];
}

function wrongSchema(message: string): AppError {
  return new AppError("storage_corrupt", `The databases do not fit together: ${message}.`, {
    suggestion: "Both have to be databases of this version of Millrace.",
  });
}

/** What moves of each table, by the columns that there are. Throws where one would be lost, or would stay without a value. */
export function layoutsOf(
  sqlite: ReadonlyMap<string, readonly string[]>,
  postgres: ReadonlyMap<string, readonly PostgresColumn[]>,
): Layout[] {
  return movedTables.map((table) => {
    const [here, there] = [sqlite.get(table.name), postgres.get(table.name)];
    if (here === undefined) throw wrongSchema(`SQLite has no table ${table.name}`);
    if (there === undefined) throw wrongSchema(`PostgreSQL has no table ${table.name}`);
    return layoutOf(table, here, there);
  });
}

function layoutOf(table: MovedTable, here: readonly string[], there: readonly PostgresColumn[]): Layout {
  const { name, key, split, rowid, dropped, derived = {} } = table;
  const own = here.filter((column) => column !== dropped);
  const moved = new Set([...own, ...(split === undefined ? [] : ["text", "bytes"]), ...Object.keys(derived)]);
  if (rowid !== undefined) moved.add(rowid);
  const lost = own.find((column) => column !== split && !there.some((other) => other.name === column));
  if (lost !== undefined) throw wrongSchema(`PostgreSQL has no column ${name}.${lost}`);
  const columns = there.filter((column) => {
    if (moved.has(column.name) || column.isNullable || column.hasDefault) return moved.has(column.name);
    throw wrongSchema(`SQLite has no column ${name}.${column.name}`);
  });
  return { table, name, key, columns, sqlite: rowid === undefined ? own : ["rowid", ...own] };
}

/** All of each table of PostgreSQL, to be read. */
export function readLayouts(postgres: ReadonlyMap<string, readonly PostgresColumn[]>): Layout[] {
  return movedTables.map((table) => {
    const columns = postgres.get(table.name);
    if (columns === undefined) throw wrongSchema(`PostgreSQL has no table ${table.name}`);
    return { table, name: table.name, key: table.key, columns, sqlite: [] };
  });
}

const uuidParts = [8, 4, 4, 4, 12];

/** A column of SQLite in SQL, by the name of its value. */
export function sqliteExpression({ table: { ids = [], rowid } }: Layout, name: string): string {
  if (name === rowid || name === "rowid") return "rowid";
  if (!ids.includes(name)) return `"${name}"`;
  let from = 1;
  const parts = uuidParts.map((length) => `substr(lower(hex("${name}")), ${(from += length) - length}, ${length})`);
  return `CASE typeof("${name}") WHEN 'blob' THEN ${parts.join(" || '-' || ")} ELSE "${name}" END`;
}

const SqliteValue = z.union([z.string(), z.number(), z.null(), z.instanceof(Uint8Array)]);

/** A row of SQLite, with what `sqliteExpression` gives, as PostgreSQL has it. */
export function fromSqlite({ table, columns }: Layout, row: Readonly<Record<string, unknown>>): MovedRow {
  const { split, rowid, json: jsonColumns = [], derived = {} } = table;
  const named: Record<string, MovedValue> = {};
  for (const { name, type, isNullable } of columns) {
    const isSplit = split !== undefined && (name === "text" || name === "bytes");
    const value = SqliteValue.parse(row[isSplit ? split : name === rowid ? "rowid" : name] ?? null);
    if (isSplit) named[name] = (typeof value === "string") === (name === "text") ? value : null;
    else if (jsonColumns.includes(name)) named[name] = value === null && isNullable ? null : JSON.stringify(value);
    else if (type === "boolean") named[name] = value !== 0;
    else named[name] = value;
  }
  return columns.map(({ name }) => derived[name]?.(named) ?? named[name] ?? null);
}

/** The values of a row for the columns that SQLite has, in their order. */
export function toSqlite({ table, columns, sqlite }: Layout, row: MovedRow): Exclude<MovedValue, boolean>[] {
  const { split, rowid, json: jsonColumns = [], ids = [] } = table;
  const named = new Map(columns.map(({ name }, at) => [name, row[at] ?? null]));
  return sqlite.map((name) => {
    const value =
      name === split
        ? (named.get("text") ?? named.get("bytes") ?? null)
        : (named.get(name === "rowid" && rowid !== undefined ? rowid : name) ?? null);
    if (typeof value === "boolean") return Number(value);
    if (typeof value !== "string") return value;
    if (jsonColumns.includes(name)) return SqliteValue.parse(JSON.parse(value));
    return ids.includes(name) ? packId(value) : value;
  });
}

/** The key of a row. */
export function keyOf(layout: Layout, row: MovedRow): MovedRow {
  return layout.key.map((name) => row[layout.columns.findIndex((column) => column.name === name)] ?? null);
}

/** Whether two rows are the same, value by value and byte by byte. */
export function isSameRow(one: MovedRow, other: MovedRow): boolean {
  return one.every((value, at) => {
    const against = other[at];
    return value instanceof Uint8Array && against instanceof Uint8Array
      ? Buffer.compare(value, against) === 0
      : Object.is(value, against);
  });
}

/** About how many bytes a row takes in memory. */
export function sizeOf(row: MovedRow): number {
  return row.reduce<number>(
    (sum, value) => sum + (typeof value === "string" || value instanceof Uint8Array ? value.length : 8),
    0,
  );
}

/** Rows of a batch at most, and bytes after which it takes no further row. */
export const [batchRows, batchBytes] = [1_000, 4 * 1024 * 1024];
