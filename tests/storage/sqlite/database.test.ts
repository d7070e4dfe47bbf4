import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import BetterSqlite3 from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  openDatabase,
  retryBusy,
  toStorageError,
  type Database,
} from "@millrace/engine/storage/sqlite/database/database";
import { GroupCommit } from "@millrace/engine/storage/sqlite/database/durable";
import { migrate } from "@millrace/engine/storage/sqlite/migrations";
import { migrations } from "@millrace/engine/storage/sqlite/migrations/index";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "database-"));
  path = join(folder, "deep", "test.db");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("opening", () => {
  test("creates the folder, and a file in WAL mode with foreign keys", () => {
    const database = openDatabase(path);
    expect(database.raw.pragma("journal_mode", { simple: true })).toBe("wal");
    expect(database.raw.pragma("foreign_keys", { simple: true })).toBe(1);
    database.close();
    database.close();
  });

  test("truncates the WAL that grew while another program was reading", () => {
    const megabyte = 1024 * 1024;
    const database = openDatabase(path);
    database.raw.exec("CREATE TABLE pieces (data BLOB)");
    const reader = new BetterSqlite3(path, { readonly: true });
    reader.exec("BEGIN");
    reader.prepare("SELECT * FROM pieces").all();
    const write = database.raw.prepare("INSERT INTO pieces VALUES (?)");
    for (let piece = 0; piece < 40; piece += 1) write.run(Buffer.alloc(2 * megabyte));
    expect(statSync(`${path}-wal`).size).toBeGreaterThan(80 * megabyte);
    reader.close();
    // The first write finds the WAL checkpointed, the second restarts it.
    write.run(Buffer.alloc(1));
    write.run(Buffer.alloc(1));
    expect(statSync(`${path}-wal`).size).toBeLessThanOrEqual(64 * megabyte);
    database.close();
  });

  test("refuses a file that is no database and leaves it unchanged", () => {
    const file = join(folder, "notes.txt");
    writeFileSync(file, "these are notes, and long enough to be read as a header ".repeat(20));
    const before = readFileSync(file);
    expect(() => openDatabase(file)).toThrow(
      expect.objectContaining({ code: "storage_corrupt", message: expect.stringContaining(file) }),
    );
    expect(readFileSync(file)).toEqual(before);
  });

  test("refuses a folder, and a path through a file", () => {
    writeFileSync(join(folder, "file"), "");
    expect(() => openDatabase(folder)).toThrow(expect.objectContaining({ code: "storage_io" }));
    expect(() => openDatabase(join(folder, "file", "test.db"))).toThrow(
      expect.objectContaining({ code: "storage_io" }),
    );
  });

  test("gives errors of SQLite a code, and leaves others unchanged", () => {
    const codes = {
      SQLITE_FULL: "storage_full",
      SQLITE_READONLY_DBMOVED: "storage_readonly",
      SQLITE_IOERR_WRITE: "storage_io",
      SQLITE_CORRUPT: "storage_corrupt",
    };
    for (const [sqlite, code] of Object.entries(codes)) {
      expect(toStorageError(new BetterSqlite3.SqliteError("failed", sqlite), path)).toMatchObject({ code });
    }
    const bug = new TypeError("a bug");
    const duplicate = new BetterSqlite3.SqliteError("unique", "SQLITE_CONSTRAINT_UNIQUE");
    expect(toStorageError(bug, path)).toBe(bug);
    expect(toStorageError(duplicate, path)).toBe(duplicate);
  });

  test("a write to a database opened for reading is storage_readonly", () => {
    openDatabase(path).close();
    const raw = new BetterSqlite3(path, { readonly: true });
    let failure: unknown;
    try {
      raw.exec("CREATE TABLE made (id INTEGER)");
    } catch (error) {
      failure = toStorageError(error, path);
    }
    raw.close();
    expect(failure).toMatchObject({ code: "storage_readonly" });
  });
});

describe("migrations", () => {
  test("run once each, in order, and are recorded", () => {
    const database = openDatabase(path);
    migrate(database, migrations);
    migrate(database, migrations);
    expect(database.raw.prepare("SELECT id FROM migrations ORDER BY id").pluck().all()).toEqual(
      migrations.map(({ id }) => id),
    );
    database.close();
  });

  test("roll back one that fails", () => {
    const database = openDatabase(path);
    const broken = {
      id: 1,
      name: "broken",
      up: (target: Database) => void target.raw.exec("CREATE TABLE half (id INTEGER); broken"),
    };
    expect(() => migrate(database, [broken])).toThrow(/syntax error/);
    expect(database.raw.prepare("SELECT name FROM sqlite_master").all()).toEqual([]);
    database.close();
  });

  test("refuse a database of a later version and leave it unchanged", () => {
    const database = openDatabase(path);
    migrate(database, migrations);
    database.raw.prepare("INSERT INTO migrations VALUES (999, 'later', '2030-01-01')").run();
    database.close();
    const before = readFileSync(path);
    const again = openDatabase(path);
    expect(() => migrate(again, migrations)).toThrow(
      expect.objectContaining({ code: "storage_newer", message: expect.stringContaining("999") }),
    );
    again.close();
    expect(readFileSync(path)).toEqual(before);
  });
});

describe("a group commit", () => {
  let database: Database;
  let commits: GroupCommit;
  const add = (id: number) => () =>
    Number(database.prepare("INSERT INTO numbers (id) VALUES (?)").run(id).lastInsertRowid);
  const ids = (): unknown => database.raw.prepare("SELECT id FROM numbers ORDER BY id").pluck().all();
  beforeEach(() => {
    database = openDatabase(path);
    database.disableBusyTimeout();
    database.raw.exec("CREATE TABLE numbers (id INTEGER PRIMARY KEY)");
    commits = new GroupCommit(database);
  });
  afterEach(() => database.close());

  test("gives each piece of work its own result", async () => {
    expect(await Promise.all([1, 2, 3].map((id) => commits.durably(add(id))))).toEqual([1, 2, 3]);
    expect(ids()).toEqual([1, 2, 3]);
  });

  test("fails only what failed, and rolls back only its changes", async () => {
    const results = await Promise.allSettled([
      commits.durably(add(1)),
      commits.durably(() => {
        add(2)();
        throw new Error("no");
      }),
      commits.durably(add(1)),
      commits.durably(add(3)),
    ]);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected", "fulfilled"]);
    expect(ids()).toEqual([1, 3]);
  });

  test("is one transaction with full sync, which is reset afterwards", async () => {
    const levels: unknown[] = [];
    const look = () => levels.push([database.raw.inTransaction, database.raw.pragma("synchronous", { simple: true })]);
    await Promise.all([commits.durably(look), commits.durably(look)]);
    look();
    expect(levels).toEqual([
      [true, 2],
      [true, 2],
      [false, 1],
    ]);
  });

  test("waits without blocking while another process writes", async () => {
    const other = new BetterSqlite3(path);
    other.exec("BEGIN IMMEDIATE");
    const written = commits.durably(add(7));
    const kept = commits.transaction(add(8));
    await new Promise((resolve) => setImmediate(resolve));
    other.exec("COMMIT");
    other.close();
    expect([await written, await kept]).toEqual([7, 8]);
  });

  /** The turn of the event loop in which each piece of work is resolved. */
  async function turnsOf(work: readonly Promise<unknown>[], begin: () => void): Promise<number[]> {
    let turn = 0;
    let open = true;
    const count = (): void => {
      turn += 1;
      if (open) setImmediate(count);
    };
    count();
    begin();
    const turns = await Promise.all(work.map((one) => one.then(() => turn)));
    open = false;
    return turns;
  }

  test("yields to the event loop between the results of one commit", async () => {
    const turns = await turnsOf(
      [1, 2, 3].map((id) => commits.durably(add(id))),
      () => undefined,
    );
    expect(new Set(turns).size).toBe(3);
  });

  test("yields to the event loop between the results of what waited for one lock", async () => {
    const other = new BetterSqlite3(path);
    other.exec("BEGIN IMMEDIATE");
    const waiting = [1, 2, 3].map((id) => commits.transaction(add(id)));
    const turns = await turnsOf(waiting, () => other.close());
    expect(new Set(turns).size).toBe(3);
  });

  test("notifies the cache when a transaction was rolled back, and only then", () => {
    const undone: string[] = [];
    database.transaction(() => database.onRollback(() => undone.push("kept")));
    const inner = (): void =>
      database.transaction(() => {
        database.onRollback(() => undone.push("inner"));
        throw new Error("no");
      });
    database.transaction(() => {
      database.onRollback(() => undone.push("outer"));
      expect(inner).toThrow("no");
      expect(undone).toEqual(["inner"]);
    });
    expect(undone).toEqual(["inner"]);
  });

  test("stops waiting for the lock when it is aborted", async () => {
    const other = new BetterSqlite3(path);
    other.exec("BEGIN IMMEDIATE");
    const stop = new AbortController();
    const waiting = retryBusy(() => database.transaction(add(1)), stop.signal);
    stop.abort();
    await expect(waiting).rejects.toMatchObject({ name: "AbortError" });
    other.close();
  });
});
