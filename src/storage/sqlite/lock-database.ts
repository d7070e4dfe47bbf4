import BetterSqlite3 from "better-sqlite3";
import { AppError } from "../../errors.ts";
import { isBusy, toStorageError } from "./database.ts";

/** A database that this process alone has open. */
export interface DatabaseLock {
  release(): void;
}

/**
 * Makes sure that no second server works on the same database: its recovery would take over the runs of the first. The
 * lock is an open transaction on a file beside the database, so the system frees it when the process ends, however it
 * ends. Throws `conflict` when another process holds it.
 */
export function lockDatabase(path: string): DatabaseLock {
  if (path === ":memory:") return { release: () => undefined };
  const file = `${path}.lock`;
  let lock: BetterSqlite3.Database | undefined;
  try {
    lock = new BetterSqlite3(file, { timeout: 100 });
    lock.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    lock?.close();
    if (!isBusy(error)) throw toStorageError(error, file);
    throw new AppError("conflict", `Another server is using the database ${path}.`, {
      suggestion: "Stop it first, or set MILLRACE_DATA_DIR to another folder.",
      cause: error,
    });
  }
  const held = lock;
  return { release: () => held.close() };
}
