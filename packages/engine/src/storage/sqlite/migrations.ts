import { z } from "zod";
import { AppError } from "../../errors/errors.ts";
import type { Database } from "./database/database.ts";

/** One change of the schema. `id` counts from 1 without gaps; a published one is never edited. */
export interface Migration {
  id: number;
  name: string;
  /** Runs inside a transaction of its own. */
  up(database: Database): void;
}

const Version = z.object({ id: z.number().int().nullable() });

function currentVersion(database: Database): number {
  const table = database.raw.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'migrations'").get();
  if (table === undefined) return 0;
  return Version.parse(database.raw.prepare("SELECT max(id) AS id FROM migrations").get()).id ?? 0;
}

/** The refusal of a database that a later version of the program has written; `undefined` for others. */
export function newerSchema(database: Database, migrations: readonly Migration[]): AppError | undefined {
  const known = migrations.at(-1)?.id ?? 0;
  const found = database.read(() => currentVersion(database));
  if (found <= known) return undefined;
  return new AppError(
    "storage_newer",
    `The database ${database.path} has schema ${found}; this program knows schemas up to ${known}.`,
    { suggestion: "Start the newer version of Millrace that wrote it, or choose another MILLRACE_DATA_DIR." },
  );
}

/**
 * Brings the schema up to the last of `migrations`. Throws `storage_newer`, with the file untouched, when the database
 * was written by a later version of the program.
 */
export function migrate(database: Database, migrations: readonly Migration[]): void {
  const newer = newerSchema(database, migrations);
  if (newer !== undefined) throw newer;
  const found = database.read(() => currentVersion(database));
  for (const migration of migrations) {
    if (migration.id <= found) continue;
    database.transaction(() => {
      database.raw.exec(
        "CREATE TABLE IF NOT EXISTS migrations (id INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL)",
      );
      // Another process may have come first while this one waited for the lock.
      if (migration.id <= currentVersion(database)) return;
      migration.up(database);
      database.raw
        .prepare("INSERT INTO migrations (id, name, applied_at) VALUES (?, ?, ?)")
        .run(migration.id, migration.name, new Date().toISOString());
    });
  }
}
