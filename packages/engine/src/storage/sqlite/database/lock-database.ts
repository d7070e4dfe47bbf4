import { closeSync, openSync, rmSync, statSync } from "node:fs";
import BetterSqlite3 from "better-sqlite3";
import { AppError } from "../../../errors/errors.ts";
import { type Database, isBusy, retryBusy, toStorageError } from "./database.ts";
import { setImmediate as nextTurn } from "node:timers/promises";

/** A database that this process alone has open. */
export interface DatabaseLock {
  /** Removes the file, then lets go of it. */
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
  // A former owner may remove the file between our look and the lock; then no other process will find it.
  for (;;) {
    ensureFile(file);
    const before = identityOf(file);
    const lock = lockFile(file, path);
    if (before !== undefined && identityOf(file) === before) {
      return {
        release: () => {
          if (lock.open) rmSync(file, { force: true });
          lock.close();
        },
      };
    }
    lock.close();
  }
}

/**
 * Which file has this name now; `undefined` for none. The file is looked at without opening it: closing a file
 * releases all locks that the process has on it.
 */
function identityOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.ino;
}

/** Makes the file when there is none, and only then opens it. */
function ensureFile(file: string): void {
  try {
    if (identityOf(file) === undefined) closeSync(openSync(file, "ax"));
  } catch (error) {
    if (identityOf(file) === undefined) throw toStorageError(error, file);
  }
}

function lockFile(file: string, path: string): BetterSqlite3.Database {
  let lock: BetterSqlite3.Database | undefined;
  try {
    lock = new BetterSqlite3(file, { timeout: 100 });
    lock.exec("BEGIN EXCLUSIVE");
    return lock;
  } catch (error) {
    lock?.close();
    if (!isBusy(error)) throw toStorageError(error, file);
    throw new AppError("conflict", `Another server is using the database ${path}.`, {
      suggestion: "Stop it first, or set MILLRACE_DATA_DIR to another folder.",
      cause: error,
    });
  }
}

/** Pages given back per transaction: about a millisecond's work. */
const pagesPerStep = 64;

/** Gives the free pages of a database back to the file system, a few at a time, so that others work meanwhile. */
export async function vacuum(database: Database): Promise<void> {
  const free = (): number => Number(database.raw.pragma("freelist_count", { simple: true }));
  for (let left = database.read(free); left > 0;) {
    await retryBusy(() =>
      database.transaction(() => {
        database.raw.pragma(`incremental_vacuum(${pagesPerStep})`);
      }),
    );
    const now = database.read(free);
    // A file from before pages could be given back one by one keeps them; new rows use them again.
    if (now >= left) return;
    left = now;
    await nextTurn();
  }
}
