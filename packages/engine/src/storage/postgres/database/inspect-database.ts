import { z } from "zod";
import { AppError, isAppError } from "../../../errors/errors.ts";
import { parseRow, readRows } from "../../rows.ts";
import { requireSchema } from "../migrations.ts";
import { migrations } from "../migrations/index.ts";
import { PostgresDatabase } from "./database.ts";

/** What a database is, without a look at its rows. */
export interface PostgresInspection {
  /** `host:port/name`. */
  place: string;
  /** The version of PostgreSQL. */
  version: string;
  bytes: number;
  /** Whether it has the schema of this version; a start makes it. */
  hasSchema: boolean;
  /** What an operator should do something about, though a server works. */
  note?: string | undefined;
}

/** The oldest PostgreSQL that is tested. */
const oldest = 15;

/** Minutes after which an open transaction is worth a note. */
const longMinutes = 10;

const About = z.object({ version: z.string(), encoding: z.string(), role: z.string(), may_create: z.boolean() });
const Bytes = z.object({ bytes: z.number() });
const Table = z.object({ name: z.string() });
const LongTransaction = z.object({ pid: z.number(), application: z.string(), minutes: z.number() });

/**
 * Looks whether a server could work on the database of an address, and changes nothing. Throws what keeps it from that:
 * `config`, `storage_unavailable`, `storage_readonly` for missing rights, `storage_newer`, `conflict` for an unfinished move.
 */
export async function inspectPostgres(url: string): Promise<PostgresInspection> {
  const database = new PostgresDatabase(url);
  try {
    const { place } = database;
    const version = await requireUsable(database);
    const hasSchema = await requireSchema(database, migrations).then(
      () => true,
      (error: unknown) => {
        if (isAppError(error) && error.code === "not_found") return false;
        throw error;
      },
    );
    const [bytes, note] = [await bytesOf(database), await noteOfTransactions(database)];
    return { place, version, bytes, hasSchema, note };
  } finally {
    await database.close();
  }
}

/** Bytes of a database. */
export async function bytesOf(database: PostgresDatabase): Promise<number> {
  const [size] = await database.rows("SELECT pg_database_size(current_database()) AS bytes");
  return parseRow(Bytes, "pg_database", size).bytes;
}

/** Which transaction of a client keeps vacuum from its work for too long, and what to do; `undefined` without one. */
async function noteOfTransactions(database: PostgresDatabase): Promise<string | undefined> {
  const [row] = await database.rows(`SELECT pid, coalesce(application_name, '') AS application,
      floor(extract(epoch FROM clock_timestamp() - xact_start) / 60)::int AS minutes
    FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'
      AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)
      AND xact_start < clock_timestamp() - interval '${longMinutes} minutes'
    ORDER BY xact_start LIMIT 1`);
  if (row === undefined) return undefined;
  const { pid, application, minutes } = parseRow(LongTransaction, "pg_stat_activity", row);
  const name = application === "" ? "without a name" : `"${application}"`;
  const remedy = `end it, or run SELECT pg_terminate_backend(${pid})`;
  return `the transaction of process ${pid} (${name}) is ${minutes} min old; until it ends, vacuum removes no old rows: ${remedy}`;
}

/** The version of PostgreSQL, where it, the encoding and the rights of the role are what a server needs. */
async function requireUsable(database: PostgresDatabase): Promise<string> {
  const [row] = await database.rows(`SELECT current_setting('server_version') AS version,
    current_setting('server_encoding') AS encoding, current_user AS role,
    coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS may_create`);
  const { version, encoding, role, may_create } = parseRow(About, "pg_settings", row);
  const { place } = database;
  if (Number.parseInt(version, 10) < oldest) {
    throw new AppError("config", `PostgreSQL at ${place} is version ${version}; expected ${oldest} or newer.`, {
      suggestion: "Upgrade it, or name another one in MILLRACE_DATABASE.",
    });
  }
  if (encoding !== "UTF8") {
    throw new AppError("config", `The database ${place} has the encoding ${encoding}; expected UTF8.`, {
      suggestion: "Create another one (createdb -E UTF8 -T template0), and name it in MILLRACE_DATABASE.",
    });
  }
  const closed = await database.rows(`SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()
    AND EXISTS (SELECT FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS needed
      WHERE NOT has_table_privilege(format('%I.%I', schemaname, tablename), needed))`);
  const [table] = readRows(Table, "pg_tables", closed);
  if (may_create && table === undefined) return version;
  const what = may_create ? `write the table ${table?.name ?? ""}` : "make tables";
  throw new AppError("storage_readonly", `The role ${role} may not ${what} in the database ${place}.`, {
    suggestion: `Make it the owner (ALTER DATABASE … OWNER TO ${role}), or grant it all rights on the database, its schema and its tables.`,
  });
}
