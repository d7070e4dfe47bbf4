import { copyFileSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { createSqliteStorage, type SqliteStorage } from "@millrace/engine/storage/sqlite/storage";

/** The database in a folder. */
export function openIn(folder: string): SqliteStorage {
  return createSqliteStorage(join(folder, "millrace.db"));
}

/** What a crash of the process at this moment would leave of the database in `folder`, in a new folder. */
export function crashCopy(folder: string, target: string): string {
  mkdirSync(target);
  for (const name of ["millrace.db", "millrace.db-wal", "millrace.db.mark"]) {
    if (existsSync(join(folder, name))) copyFileSync(join(folder, name), join(target, name));
  }
  return target;
}
