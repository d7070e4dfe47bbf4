import { existsSync, renameSync, rmSync } from "node:fs";
import { z } from "zod";
import { AppError, isAppError } from "../../../errors/errors.ts";
import type { MoveSource, MoveTarget } from "../../move/move.ts";
import {
  batchBytes,
  batchRows,
  fromSqlite,
  type Layout,
  type MovedRow,
  movedTables,
  sizeOf,
  sqliteExpression,
  toSqlite,
} from "../../move/tables.ts";
import { CountRow, parseRow, readRows } from "../../rows.ts";
import { migrate } from "../migrations.ts";
import { migrations } from "../migrations/index.ts";
import { createSqliteStorage } from "../storage.ts";
import { type Database, openDatabase } from "./database.ts";
import { markFile } from "./durable.ts";
import { lockDatabase } from "./lock-database.ts";
import { openToRead, removeFiles } from "./maintenance.ts";

const NameRow = z.object({ name: z.string() });
const Row = z.record(z.string(), z.unknown());

/** The columns of every table. Throws for rows in one that does not move. */
function describeTables(database: Database): Map<string, string[]> {
  return database.read(() => {
    const select = database.raw.prepare("SELECT name FROM pragma_table_info(?)");
    const tables = database.raw.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
    const names = readRows(NameRow, "sqlite_master", tables).map(({ name }) => name);
    const known = new Set(["migrations", ...movedTables.map(({ name }) => name)]);
    const other = names.find(
      (name) =>
        !known.has(name) &&
        !name.startsWith("sqlite_") &&
        database.raw.prepare(`SELECT 1 FROM "${name}" LIMIT 1`).get() !== undefined,
    );
    if (other !== undefined) {
      throw new AppError("conflict", `The table ${other} of ${database.path} is not one that can be moved.`, {
        suggestion:
          "Only SQLite has it, such as the states of LangGraph's own SqliteSaver. Empty it, or stay with SQLite.",
      });
    }
    return new Map(names.map((name) => [name, readRows(NameRow, name, select.all(name)).map((row) => row.name)]));
  });
}

function sourceOf(database: Database): MoveSource & Pick<MoveTarget, "between"> {
  const select = (layout: Layout, clauses: string[], values: MovedRow, limit: number): MovedRow[] =>
    database.read(() => {
      const selected = layout.sqlite.map((name) => `${sqliteExpression(layout, name)} AS "${name}"`);
      const where = clauses.length === 0 ? "" : `WHERE ${clauses.join(" AND ")}`;
      const order = layout.key.map((name) => sqliteExpression(layout, name)).join(", ");
      const sql = `SELECT ${selected.join(", ")} FROM "${layout.name}" ${where} ORDER BY ${order} LIMIT ${limit}`;
      const rows: MovedRow[] = [];
      let bytes = 0;
      for (const found of database.raw.prepare(sql).iterate(...values)) {
        const row = fromSqlite(layout, parseRow(Row, layout.name, found));
        rows.push(row);
        bytes += sizeOf(row);
        if (bytes >= batchBytes && limit === batchRows) break;
      }
      return rows;
    });
  const compare = (layout: Layout, sign: ">" | "<=") =>
    `(${layout.key.map((name) => sqliteExpression(layout, name)).join(", ")}) ${sign} (${layout.key.map(() => "?").join(", ")})`;
  return {
    place: database.path,
    read: async (layout, after) =>
      select(layout, after === undefined ? [] : [compare(layout, ">")], after ?? [], batchRows),
    between: async (layout, after, upTo, limit) =>
      select(
        layout,
        [...(after === undefined ? [] : [compare(layout, ">")]), compare(layout, "<=")],
        [...(after ?? []), ...upTo],
        limit,
      ),
    count: async (table) =>
      database.read(
        () => parseRow(CountRow, table, database.raw.prepare(`SELECT count(*) AS count FROM "${table}"`).get()).count,
      ),
  };
}

/** What a move out of SQLite, or into it, works with. */
export interface SqliteMove<Side> {
  tables: ReadonlyMap<string, readonly string[]>;
  side: Side;
}

/**
 * Lends a database as the source of a move, with the schema of this version, while no server can use it. Throws `not_found`
 * where there is none, `conflict` while a server uses it, and what opening it throws.
 */
export async function moveFromSqlite<Result>(
  path: string,
  work: (source: SqliteMove<MoveSource>) => Promise<Result>,
): Promise<Result> {
  if (!existsSync(path)) {
    throw new AppError("not_found", `There is no database ${path}.`, {
      suggestion: "It is looked for in MILLRACE_DATA_DIR.",
    });
  }
  // This looks at the file, and brings it up to this version's schema.
  await createSqliteStorage(path).close();
  const lock = lockDatabase(path);
  try {
    const database = openToRead(path);
    try {
      return await work({ tables: describeTables(database), side: sourceOf(database) });
    } finally {
      database.close();
    }
  } finally {
    lock.release();
  }
}

/**
 * Lends a new database as the target of a move. It is there under its name when `work` is done, and until then under
 * another one, where the next move goes on. Throws `conflict` for a database that exists.
 */
export async function moveToSqlite<Result>(
  path: string,
  work: (target: SqliteMove<MoveTarget>) => Promise<Result>,
): Promise<Result> {
  const lock = lockDatabase(path);
  const unfinished = `${path}.moving`;
  let database: Database | undefined;
  try {
    if (existsSync(path)) {
      throw new AppError("conflict", `There is a database ${path} already; a move never replaces one.`, {
        suggestion: "Rename it or move it away, or choose another MILLRACE_DATA_DIR.",
      });
    }
    let opened = (database = openUnfinished(unfinished));
    const side: MoveTarget = {
      place: path,
      read: (layout, after) => sourceOf(opened).read(layout, after),
      between: (layout, after, upTo, limit) => sourceOf(opened).between(layout, after, upTo, limit),
      count: (table) => sourceOf(opened).count(table),
      async insert(layout, rows) {
        const columns = layout.sqlite.map((name) => (name === "rowid" ? name : `"${name}"`));
        const sql = `INSERT INTO "${layout.name}" (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`;
        opened.transaction(() => {
          const insert = opened.prepare(sql);
          for (const row of rows) insert.run(...toSqlite(layout, row));
        });
      },
      async clear() {
        opened.close();
        removeFiles(unfinished);
        opened = database = openUnfinished(unfinished);
      },
    };
    const result = await work({ tables: describeTables(opened), side });
    opened.raw.pragma("synchronous = FULL");
    opened.raw.pragma("journal_mode = DELETE");
    opened.close();
    rmSync(markFile(path), { force: true });
    renameSync(unfinished, path);
    return result;
  } finally {
    database?.close();
    lock.release();
  }
}

/** What a former move has left, or a new database; one that is damaged is worth nothing. */
function openUnfinished(path: string): Database {
  try {
    return openMigrated(path);
  } catch (error) {
    if (!isAppError(error) || error.code !== "storage_corrupt") throw error;
    removeFiles(path);
    return openMigrated(path);
  }
}

function openMigrated(path: string): Database {
  const database = openDatabase(path);
  try {
    migrate(database, migrations);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}
