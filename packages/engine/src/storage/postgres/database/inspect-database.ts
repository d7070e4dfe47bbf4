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
}

/** The oldest PostgreSQL that is tested. */
const oldest = 15;

const About = z.object({ version: z.string(), encoding: z.string(), role: z.string(), may_create: z.boolean() });
const Bytes = z.object({ bytes: z.number() });
const Table = z.object({ name: z.string() });

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
    return { place, version, bytes: await bytesOf(database), hasSchema };
  } finally {
    await database.close();
  }
}

/** Bytes of a database. */
export async function bytesOf(database: PostgresDatabase): Promise<number> {
  const [size] = await database.rows("SELECT pg_database_size(current_database()) AS bytes");
  return parseRow(Bytes, "pg_database", size).bytes;
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
