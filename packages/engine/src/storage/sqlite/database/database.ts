import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import BetterSqlite3 from "better-sqlite3";
import { AppError, type ErrorCode, errorMessage, systemCode } from "../../../errors/errors.ts";
import type { Change, ChangeListener } from "../../changes.ts";

/** How long opening and migrating may block for a lock, in milliseconds; no request is served yet. See `disableBusyTimeout`. */
const startTimeout = 2000;
/** Bytes that the write-ahead log keeps on the disk once it is no longer needed. */
const logLimit = 64 * 1024 * 1024;
/** How long `retryBusy` goes on before it gives up, in milliseconds. */
const busyLimit = 30_000;

const suggestions: Partial<Record<ErrorCode, string>> = {
  storage_full: "Free some space on the disk that holds the database, then try again.",
  storage_readonly:
    "Make the database file and its folder writable for this user, or choose another MILLRACE_DATA_DIR.",
  storage_io: "Check the disk, the folder and whether another program holds the file open, then try again.",
  storage_corrupt: "Restore the file from a backup, or move it away to start with an empty database.",
};

function storageCode(code: string): ErrorCode {
  if (code.startsWith("SQLITE_FULL") || code === "ENOSPC" || code === "EDQUOT") return "storage_full";
  if (code.startsWith("SQLITE_READONLY") || code.startsWith("SQLITE_PERM")) return "storage_readonly";
  if (code === "EACCES" || code === "EROFS" || code === "EPERM") return "storage_readonly";
  if (code.startsWith("SQLITE_CORRUPT") || code.startsWith("SQLITE_NOTADB")) return "storage_corrupt";
  return "storage_io";
}

/** Whether another connection holds the lock, so that the same work can succeed later. */
export function isBusy(error: unknown): boolean {
  const code = systemCode(error);
  return code.startsWith("SQLITE_BUSY") || code.startsWith("SQLITE_LOCKED");
}

/** Whether a rule of the schema (unique, foreign key) refused a write; `toStorageError` leaves those as they are. */
export function isConstraint(error: unknown): boolean {
  return systemCode(error).startsWith("SQLITE_CONSTRAINT");
}

/**
 * The `AppError` (`storage_*`) for a failure of SQLite or of the file system, naming the file. Anything else, broken
 * constraints and programming errors included, comes back unchanged.
 */
export function toStorageError(error: unknown, path: string): unknown {
  const code = systemCode(error);
  const fromSqlite = error instanceof BetterSqlite3.SqliteError && code !== "SQLITE_ERROR" && !isConstraint(error);
  const fromSystem = error instanceof Error && "syscall" in error;
  if (code === "" || !(fromSqlite || fromSystem)) return error;
  const kind = storageCode(code);
  const suggestion = suggestions[kind];
  return new AppError(kind, `The database ${path} cannot be used: ${errorMessage(error)} (${code}).`, {
    suggestion,
    recoverable: kind !== "storage_corrupt",
    cause: error,
  });
}

let lastTurn: Promise<void> = Promise.resolve();

/**
 * Resolves in a turn of the event loop of its own: else all that waited for one lock would go on in the same turn
 * once it is released, which is a stall.
 */
function ownTurn(): Promise<void> {
  lastTurn = lastTurn.then(() => nextTurn());
  return lastTurn;
}

/** Runs `work` again, with growing pauses and without blocking, while another connection holds the lock; at most 30 s. */
export async function retryBusy<T>(work: () => T, signal?: AbortSignal): Promise<T> {
  const deadline = performance.now() + busyLimit;
  for (let pause = 2; ; pause = Math.min(pause * 2, 250)) {
    try {
      return work();
    } catch (error) {
      const busy = isBusy(error) || (error instanceof AppError && isBusy(error.cause));
      if (!busy || performance.now() + pause > deadline) throw error;
      await sleep(pause, undefined, signal === undefined ? {} : { signal });
      await ownTurn();
    }
  }
}

/**
 * `sql` with a plus before each value that a column is compared with. SQLite looks at such values to choose between
 * indexes, and compiles the statement again whenever one is bound, which takes ten times as long as reading a row. Behind a
 * plus it does not look.
 */
function hideValuesFromPlanner(sql: string): string {
  return sql.replace(/([=<>]) (?=[?@])/gu, "$1 +");
}

/**
 * One open SQLite file: its connection, its prepared statements and its transactions. All failures of `read` and
 * `transaction` are `AppError`s with a `storage_*` code, except broken constraints.
 */
export class Database {
  readonly path: string;
  /** The connection itself, for what this class does not offer. Do not open transactions on it. */
  readonly raw: BetterSqlite3.Database;
  readonly #statements = new Map<string, BetterSqlite3.Statement>();
  #undo: (() => void)[] = [];
  #changes: Change[] = [];
  #listener: ChangeListener | undefined;
  /** Records what the open transaction changes; absent without a listener, so that it costs nothing. */
  recordChange: ((change: Change) => void) | undefined;

  constructor(path: string, raw: BetterSqlite3.Database) {
    this.path = path;
    this.raw = raw;
  }

  /**
   * From now on a lock that another program holds fails at once instead of freezing the event loop; `retryBusy` waits for
   * it without blocking. Twenty writers that each block for 20 ms stall a server as much as one that blocks for 400.
   */
  disableBusyTimeout(): void {
    this.raw.pragma("busy_timeout = 0");
  }

  /** The prepared statement for `sql`, made once per connection. `sql` must come from a fixed set of texts. */
  prepare<Row = unknown>(sql: string): BetterSqlite3.Statement<unknown[], Row> {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.raw.prepare(hideValuesFromPlanner(sql));
      this.#statements.set(sql, statement);
    }
    return statement as BetterSqlite3.Statement<unknown[], Row>; // the schema, which is ours, fixes the row of a statement
  }

  /** Calls the listener after each commit with what the transaction has changed. */
  watch(listener: ChangeListener): void {
    this.#listener = listener;
    this.recordChange = (change) => void this.#changes.push(change);
  }

  /** Runs queries and turns SQLite's failures into `AppError`s. */
  read<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw toStorageError(error, this.path);
    }
  }

  /**
   * Runs synchronous work in one transaction (inside another one: a savepoint) and takes it back when it throws. Not on
   * disk before the next fsync: for that see `GroupCommit.durably`.
   */
  transaction<T>(work: () => T): T {
    const nested = this.raw.inTransaction;
    const mark = this.#undo.length;
    const recorded = this.#changes.length;
    try {
      this.prepare(nested ? "SAVEPOINT work" : "BEGIN IMMEDIATE").run();
    } catch (error) {
      throw toStorageError(error, this.path);
    }
    try {
      const result = work();
      this.prepare(nested ? "RELEASE work" : "COMMIT").run();
      if (!nested) {
        this.#undo = [];
        if (this.#changes.length > 0) this.#listener?.(this.#changes.splice(0));
      }
      return result;
    } catch (error) {
      // SQLite may already have taken the whole transaction back itself, for instance on a full disk.
      if (this.raw.inTransaction) this.raw.exec(nested ? "ROLLBACK TO work; RELEASE work" : "ROLLBACK");
      this.#changes.length = Math.min(recorded, this.#changes.length);
      for (const undo of this.#undo.splice(mark).reverse()) undo();
      throw toStorageError(error, this.path);
    }
  }

  /** Calls `undo` when the transaction that is open now is taken back: for what memory remembers of written rows. */
  onRollback(undo: () => void): void {
    if (this.raw.inTransaction) this.#undo.push(undo);
  }

  /** Closes the file; a second call does nothing. */
  close(): void {
    this.#statements.clear();
    this.raw.close();
  }
}

/**
 * Opens or creates the database file (and its folder). Throws `storage_corrupt` when the file is no SQLite database and
 * the other `storage_*` codes by what failed. WAL, so readers never wait; `synchronous=NORMAL`, so a commit costs no
 * fsync.
 */
export function openDatabase(path: string): Database {
  let raw: BetterSqlite3.Database | undefined;
  try {
    if (path !== ":memory:") mkdirSync(dirname(path), { recursive: true });
    raw = new BetterSqlite3(path, { timeout: startTimeout });
    raw.prepare("SELECT count(*) FROM sqlite_master").get();
    if (raw.pragma("page_count", { simple: true }) === 0) {
      // Three tool results of 2 KB share a page of 8 KB, but one page of 4 KB holds only one.
      raw.pragma("page_size = 8192");
      // Free pages can be given back a few at a time, while others work (`vacuum`).
      raw.pragma("auto_vacuum = INCREMENTAL");
    }
    raw.pragma("journal_mode = WAL");
    raw.pragma("synchronous = NORMAL");
    // While another program reads, a backup for instance, the log can only grow; afterwards it gives the space back.
    raw.pragma(`journal_size_limit = ${logLimit}`);
    raw.pragma("foreign_keys = ON");
    return new Database(path, raw);
  } catch (error) {
    raw?.close();
    throw toStorageError(error, path);
  }
}
