import { z } from "zod";
import { AppError } from "../../errors/errors.ts";
import { parseRow, readRow } from "../rows.ts";
import type { PostgresDatabase, Statements } from "./database/database.ts";

/** One change of the schema. `id` counts from 1 without gaps; a published one is never edited. */
export interface Migration {
  id: number;
  /** The oldest schema whose programs can go on beside this one: one that only adds names it. Default this one. */
  oldest?: number;
  /** Statements that run in one transaction. */
  sql: string;
}

/** Any number that no other program takes for its lock in the same database: `millrace` as ASCII, cut to 52 bits. */
const lock = 0x6_d69_6c6c;

/** The table that is there while a move fills the database. */
export const unfinishedMove = "unfinished_move";

const TableRow = z.object({ is_there: z.boolean() });
const Settings = z.object({ encoding: z.string() });
const Version = z.object({ current: z.int(), min_compatible: z.int() });

/**
 * Brings the schema up to the last of `migrations`; servers that start at once go one after the other. Throws
 * `storage_newer`, with nothing changed, where a later version of the program has made a schema that this one cannot use,
 * and `conflict` for a database that a move has not filled to the end; `isMove`: that is what is about to be done.
 */
export async function migrate(
  database: PostgresDatabase,
  migrations: readonly Migration[],
  isMove = false,
): Promise<void> {
  const known = migrations.at(-1)?.id ?? 0;
  await database.transaction(async (statements) => {
    const [settings] = await statements.rows(
      `SELECT current_setting('server_encoding') AS encoding, set_config('lock_timeout', '10s', true),
         pg_advisory_xact_lock($1)`,
      [lock],
    );
    const { encoding } = parseRow(Settings, "pg_settings", settings);
    if (encoding !== "UTF8") {
      throw new AppError("config", `The database ${database.place} has the encoding ${encoding}; expected UTF8.`, {
        suggestion: "Create another one (createdb -E UTF8 -T template0), and name it in MILLRACE_DATABASE.",
      });
    }
    await statements.change(
      "CREATE TABLE IF NOT EXISTS schema_version (current int NOT NULL, min_compatible int NOT NULL)",
    );
    const [row] = await statements.rows("SELECT current, min_compatible FROM schema_version");
    const found = readRow(Version, "schema_version", row) ?? { current: 0, min_compatible: 0 };
    if (found.min_compatible > known) {
      throw newerSchema(database.place, found.current, known);
    }
    if (!isMove) await requireMoved(statements, database.place);
    const made = migrations.filter(({ id }) => id > found.current);
    for (const { sql } of made) await statements.change(sql);
    if (known <= found.current) return;
    await statements.change("DELETE FROM schema_version");
    const oldest = Math.max(found.min_compatible, ...made.map((migration) => migration.oldest ?? migration.id));
    await statements.change("INSERT INTO schema_version (current, min_compatible) VALUES ($1, $2)", [known, oldest]);
  });
}

/**
 * Looks whether a database has the schema of this version, and changes nothing. Throws `not_found` for one without tables
 * of ours or with those of an older version, `storage_newer` for one of a later version, and `conflict` as `migrate`.
 */
export async function requireSchema(statements: PostgresDatabase, migrations: readonly Migration[]): Promise<void> {
  const known = migrations.at(-1)?.id ?? 0;
  const [table] = await statements.rows("SELECT to_regclass('schema_version') IS NOT NULL AS is_there");
  const { is_there } = parseRow(TableRow, "pg_class", table);
  const [row] = is_there ? await statements.rows("SELECT current, min_compatible FROM schema_version") : [];
  const found = readRow(Version, "schema_version", row) ?? { current: 0, min_compatible: 0 };
  if (found.min_compatible > known) throw newerSchema(statements.place, found.current, known);
  if (found.current < known) {
    throw new AppError("not_found", `The database ${statements.place} has not the schema of this version.`, {
      suggestion: "Start the server with it once, or correct the address.",
    });
  }
  await requireMoved(statements, statements.place);
}

function newerSchema(place: string, found: number, known: number): AppError {
  return new AppError(
    "storage_newer",
    `The database ${place} has schema ${found}; this program knows schemas up to ${known}.`,
    { suggestion: "Start the newer version of Millrace that wrote it, or choose another MILLRACE_DATABASE." },
  );
}

async function requireMoved(statements: Statements, place: string): Promise<void> {
  const [row] = await statements.rows("SELECT to_regclass($1) IS NOT NULL AS is_there", [unfinishedMove]);
  if (!parseRow(TableRow, "pg_class", row).is_there) return;
  throw new AppError("conflict", `A move into the database ${place} was not finished.`, {
    suggestion: "Run millrace move again: it goes on where it ended.",
  });
}
