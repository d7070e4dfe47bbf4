import { z } from "zod";
import { AppError, isAppError, systemCode } from "../../../errors/errors.ts";
import { describeKey, type MoveSource, type MoveTarget } from "../../move/move.ts";
import {
  batchBytes,
  batchRows,
  keyOf,
  type Layout,
  type MovedRow,
  movedTables,
  type PostgresColumn,
} from "../../move/tables.ts";
import { CountRow, parseRow, readRows } from "../../rows.ts";
import { migrate, unfinishedMove } from "../migrations.ts";
import { migrations } from "../migrations/index.ts";
import { PostgresDatabase, type Statements } from "./database.ts";

/** Milliseconds that a statement of a move may take: it counts whole tables. */
const patience = 10 * 60_000;

const ColumnRow = z.object({
  table_name: z.string(),
  name: z.string(),
  type: z.string(),
  isNullable: z.boolean(),
  isIdentity: z.boolean(),
  hasDefault: z.boolean(),
});
const Value = z.union([z.string(), z.number(), z.boolean(), z.null(), z.instanceof(Uint8Array)]);
const Row = z.record(z.string(), Value);

const columnsSql = `SELECT table_name, column_name AS name, data_type AS type, is_nullable = 'YES' AS "isNullable",
    is_identity = 'YES' AS "isIdentity", column_default IS NOT NULL OR is_generated = 'ALWAYS' AS "hasDefault"
  FROM information_schema.columns WHERE table_schema = current_schema() ORDER BY table_name, ordinal_position`;

/** The columns of every table that moves and is there. */
export async function describeTables(statements: Statements): Promise<Map<string, PostgresColumn[]>> {
  const names = new Set(movedTables.map(({ name }) => name));
  const found = readRows(ColumnRow, "columns", await statements.rows(columnsSql));
  return Map.groupBy(
    found.filter(({ table_name }) => names.has(table_name)),
    ({ table_name }) => table_name,
  );
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(", ");
}

/** A database as the source of a move. */
export function sourceOf(statements: Statements, place: string): MoveSource & Pick<MoveTarget, "between"> {
  const rowsOf = (layout: Layout, found: unknown[]): MovedRow[] =>
    readRows(Row, layout.name, found).map((row) => layout.columns.map(({ name }) => row[name] ?? null));
  /** A key in a comparison, its values from a place of the statement on. */
  const compare = (layout: Layout, sign: ">" | "<=", from: number) =>
    `(${quoted(layout.key)}) ${sign} (${layout.key.map((_, at) => `$${from + at}`).join(", ")})`;
  return {
    place,
    async read(layout, after) {
      const columns = quoted(layout.columns.map(({ name }) => name));
      const key = quoted(layout.key);
      // A batch ends before its bytes are read: none of its rows is larger than what is left, but the first.
      const large = layout.columns.filter(({ type }) => type === "text" || type === "bytea");
      const size = large.map(({ name }) => `coalesce(octet_length("${name}"), 0)`).join(" + ") || "0";
      const where = after === undefined ? "" : `WHERE ${compare(layout, ">", 1)}`;
      const sql = `SELECT ${columns} FROM (
          SELECT *, sum(size) OVER (ORDER BY ${key} ROWS UNBOUNDED PRECEDING) - size AS before FROM (
            SELECT ${columns}, ${size} AS size FROM "${layout.name}" ${where} ORDER BY ${key} LIMIT ${batchRows}
          ) AS sized) AS summed WHERE before < ${batchBytes} ORDER BY ${key}`;
      return rowsOf(layout, await statements.rows(sql, after ?? []));
    },
    async between(layout, after, upTo, limit) {
      const clauses = [compare(layout, "<=", 1)];
      if (after !== undefined) clauses.push(compare(layout, ">", 1 + upTo.length));
      const columns = quoted(layout.columns.map(({ name }) => name));
      const sql = `SELECT ${columns} FROM "${layout.name}" WHERE ${clauses.join(" AND ")}
        ORDER BY ${quoted(layout.key)} LIMIT ${limit}`;
      return rowsOf(layout, await statements.rows(sql, [...upTo, ...(after ?? [])]));
    },
    async count(table) {
      const [row] = await statements.rows(`SELECT count(*) AS count FROM "${table}"`);
      return parseRow(CountRow, table, row).count;
    },
  };
}

function targetOf(statements: Statements, place: string, tables: readonly string[]): MoveTarget {
  const insertAll = async (layout: Layout, rows: readonly MovedRow[]): Promise<void> => {
    const columns = quoted(layout.columns.map(({ name }) => name));
    const arrays = layout.columns.map(({ type }, at) => `$${at + 1}::${type}[]`).join(", ");
    const sql = `INSERT INTO "${layout.name}" (${columns}) OVERRIDING SYSTEM VALUE SELECT * FROM unnest(${arrays})`;
    await statements.change(
      sql,
      layout.columns.map((_, at) => rows.map((row) => row[at] ?? null)),
    );
  };
  return {
    ...sourceOf(statements, place),
    async insert(layout, rows) {
      try {
        await insertAll(layout, rows);
      } catch (error) {
        const [row, ...others] = rows;
        if (!isAppError(error) || error.code !== "invalid_parameter" || row === undefined) throw error;
        if (others.length > 0) {
          for (const one of rows) await this.insert(layout, [one]);
          return;
        }
        const key = describeKey(keyOf(layout, row));
        throw new AppError(
          "invalid_parameter",
          `PostgreSQL cannot take the row ${key} of ${layout.name}: it has a NUL.`,
          {
            cause: error,
            suggestion: "Remove what has such a name, then move again.",
          },
        );
      }
    },
    clear: async () => void (await statements.change(`TRUNCATE ${quoted(tables)} CASCADE`)),
  };
}

/** What a move out of PostgreSQL, or into it, works with. */
export interface PostgresMove<Side> {
  tables: ReadonlyMap<string, readonly PostgresColumn[]>;
  side: Side;
}

/** Throws `conflict` while a server is connected to the database. */
async function requireNoServer(statements: Statements, place: string): Promise<void> {
  const sql = `SELECT count(*) AS count FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'millrace'`;
  const [row] = await statements.rows(sql);
  if (parseRow(CountRow, "pg_stat_activity", row).count > 0) throw inUse(place);
  const isThere = "SELECT count(*) AS count FROM pg_class WHERE oid = to_regclass('server_lock')";
  const [table] = await statements.rows(isThere);
  if (parseRow(CountRow, "pg_class", table).count === 0) return;
  const [lock] = await statements.rows("SELECT count(*) AS count FROM server_lock WHERE until > now()");
  if (parseRow(CountRow, "server_lock", lock).count > 0) throw inUse(place);
}

function inUse(place: string, cause?: unknown): AppError {
  return new AppError("conflict", `A server, or another move, is using the database ${place}.`, {
    suggestion: "Stop it first.",
    cause,
  });
}

/**
 * Lends what `work` needs in a transaction that holds a lock meanwhile, so that no other process writes and a lost
 * server releases it. Throws `conflict` where another process holds it.
 */
async function locked<Result>(
  database: PostgresDatabase,
  tables: readonly string[],
  work: (statements: Statements) => Promise<Result>,
): Promise<Result> {
  return await database.transaction(async (statements) => {
    await statements.rows("SELECT set_config('idle_in_transaction_session_timeout', '0', true)");
    try {
      await statements.change(`LOCK TABLE ${quoted(tables)} IN SHARE ROW EXCLUSIVE MODE NOWAIT`);
    } catch (error) {
      throw systemCode(error) === "55P03" ? inUse(database.place, error) : error;
    }
    return await work(statements);
  });
}

/** Opens a database under a name that distinguishes servers from moves, and closes it. */
export async function withDatabase<Result>(
  url: string,
  work: (database: PostgresDatabase) => Promise<Result>,
): Promise<Result> {
  const address = URL.canParse(url) ? new URL(url) : undefined;
  address?.searchParams.set("application_name", "millrace move");
  const database = new PostgresDatabase(address?.href ?? url, { patience });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/** Lends a database as the source of a move, while no server can write to it. Throws `conflict` while a server uses it. */
export async function moveFromPostgres<Result>(
  url: string,
  work: (source: PostgresMove<MoveSource>) => Promise<Result>,
): Promise<Result> {
  return await withDatabase(url, async (database) => {
    await requireNoServer(database, database.place);
    await migrate(database, migrations);
    const tables = await describeTables(database);
    return await locked(database, [...tables.keys()], (statements) =>
      work({ tables, side: sourceOf(statements, database.place) }),
    );
  });
}

/**
 * Lends an empty database, or one that a former move has begun to fill, as the target of a move. No server opens it before
 * `work` is done. Throws `conflict` for one that holds anything else, or while a server uses it.
 */
export async function moveToPostgres<Result>(
  url: string,
  work: (target: PostgresMove<MoveTarget>) => Promise<Result>,
): Promise<Result> {
  return await withDatabase(url, async (database) => {
    await requireNoServer(database, database.place);
    await migrate(database, migrations, true);
    const tables = await describeTables(database);
    const side = targetOf(database, database.place, [...tables.keys()]);
    await begin(database, side, [...tables.keys()]);
    return await locked(database, [unfinishedMove], async (statements) => {
      const result = await work({ tables, side });
      for (const [table, columns] of tables) await continueNumbers(statements, table, columns);
      await statements.change("ANALYZE");
      await statements.change(`DROP TABLE ${unfinishedMove}`);
      return result;
    });
  });
}

const ExistsRow = z.object({ exists: z.boolean() });

/** Marks the database as one that is being filled, unless it is so already. */
async function begin(database: PostgresDatabase, side: MoveSource, tables: readonly string[]): Promise<void> {
  const [row] = await database.rows("SELECT to_regclass($1) IS NOT NULL AS exists", [unfinishedMove]);
  if (parseRow(ExistsRow, "pg_class", row).exists) return;
  for (const table of tables) {
    if ((await side.count(table)) === 0) continue;
    throw new AppError("conflict", `The database ${database.place} is not empty: it has rows in ${table}.`, {
      suggestion: "Name an empty database; a move never replaces one (createdb makes a new one).",
    });
  }
  await database.change(`CREATE TABLE IF NOT EXISTS ${unfinishedMove} ()`);
}

/** New keys come behind those that were moved. */
async function continueNumbers(
  statements: Statements,
  table: string,
  columns: readonly PostgresColumn[],
): Promise<void> {
  for (const { name } of columns.filter(({ isIdentity }) => isIdentity)) {
    await statements.rows(
      `SELECT setval(pg_get_serial_sequence($1, $2), coalesce(max("${name}"), 0) + 1, false) FROM "${table}"`,
      [table, name],
    );
  }
  // Those of checkpoints come from one sequence.
  if (!table.startsWith("checkpoint_") || !columns.some(({ name }) => name === "key")) return;
  await statements.rows(
    `SELECT setval('checkpoint_keys', greatest(nextval('checkpoint_keys'), max(key) + 1), false) FROM "${table}"`,
  );
}
