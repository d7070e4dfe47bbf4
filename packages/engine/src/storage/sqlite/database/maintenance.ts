import { existsSync, mkdirSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { crc32 } from "node:zlib";
import BetterSqlite3 from "better-sqlite3";
import { z } from "zod";
import { AppError } from "../../../errors/errors.ts";
import type { Session } from "../../records.ts";
import { markFile } from "./durable.ts";
import { Database, openDatabase, toStorageError } from "./database.ts";
import { lockDatabase, vacuum } from "./lock-database.ts";
import { newerSchema } from "../migrations.ts";
import { migrations } from "../migrations/index.ts";
import { createSqliteStorage } from "../storage.ts";

/** What a look through a whole database found. */
export interface DatabaseReport {
  sessions: number;
  runs: number;
  bytes: number;
  /** What is wrong, a line each; empty for a sound database. */
  problems: string[];
}

const Checksummed = z.object({ data: z.union([z.string(), z.instanceof(Buffer)]), crc: z.number() });
const Count = z.object({ count: z.number() });
const checksummed = ["checkpoint_rows", "checkpoint_writes", "checkpoint_blobs", "checkpoint_items"] as const;

function count(database: Database, table: "sessions" | "runs"): number {
  return Count.parse(database.raw.prepare(`SELECT count(*) AS count FROM ${table}`).get()).count;
}

function damagedRows(database: Database, table: (typeof checksummed)[number]): string[] {
  let damaged = 0;
  for (const row of database.raw.prepare(`SELECT data, crc FROM ${table} WHERE data IS NOT NULL`).iterate()) {
    const { data, crc } = Checksummed.parse(row);
    if (crc32(data) !== crc) damaged += 1;
  }
  return damaged === 0 ? [] : [`${damaged} row(s) of ${table} are not what was written`];
}

/** A connection that changes nothing: a backup stays the file it is, and a server that has the database open is not met. */
export function openToRead(path: string): Database {
  try {
    return new Database(path, new BetterSqlite3(path, { readonly: true, fileMustExist: true }));
  } catch (error) {
    throw toStorageError(error, path);
  }
}

/** Opens an existing file that has to be a database of ours. Throws `not_found`, `storage_corrupt` or `storage_newer`. */
function openExisting(path: string, open: (path: string) => Database): Database {
  if (!existsSync(path)) {
    throw new AppError("not_found", `There is no file ${path}.`, {
      suggestion: "Name an existing file; the database is looked for in MILLRACE_DATA_DIR.",
    });
  }
  const database = open(path);
  try {
    const table = database.read(() =>
      database.raw.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'migrations'").get(),
    );
    if (table === undefined) {
      throw new AppError("storage_corrupt", `The file ${path} is no database of Millrace: it has no schema of ours.`, {
        suggestion: "Name a file that millrace backup has made.",
      });
    }
    const newer = newerSchema(database, migrations);
    if (newer !== undefined) throw newer;
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function report(database: Database): DatabaseReport {
  return database.read(() => {
    const found = z.array(z.string()).parse(database.raw.prepare("PRAGMA integrity_check(20)").pluck().all());
    const sound = found.length === 1 && found[0] === "ok";
    return {
      sessions: count(database, "sessions"),
      runs: count(database, "runs"),
      bytes: statSync(database.path).size,
      problems: [...(sound ? [] : found), ...checksummed.flatMap((table) => damagedRows(database, table))],
    };
  });
}

/** Looks through a whole database: its structure and every checksum. It may be in use. Throws when it cannot be read. */
export function checkWhole(path: string): DatabaseReport {
  const database = openExisting(path, openToRead);
  try {
    return report(database);
  } finally {
    database.close();
  }
}

/** `report`, as a failure where there are problems. */
function requireSound(database: Database, what: string): DatabaseReport {
  const found = report(database);
  if (found.problems.length === 0) return found;
  throw new AppError("storage_corrupt", `${what} is damaged: ${found.problems.join("; ")}.`, {
    suggestion: "Use an older backup.",
  });
}

/**
 * Copies a database, in use or not, to a new file, with its folder, and looks through the copy. The copy is one moment
 * of the database, whatever is written meanwhile, and is there under its name only when it is complete. Throws
 * `conflict` for a file that exists, `storage_corrupt` when the copy is not sound.
 */
export async function backupDatabase(path: string, target: string): Promise<DatabaseReport> {
  if (existsSync(target)) {
    throw new AppError("conflict", `The file ${target} exists already; a backup never replaces one.`, {
      suggestion: "Choose another name.",
    });
  }
  const unfinished = `${target}.unfinished`;
  removeFiles(unfinished);
  try {
    await copyDatabase(path, unfinished);
    const found = soundCopy(unfinished, `The copy of ${path}`);
    renameSync(unfinished, target);
    return found;
  } finally {
    removeFiles(unfinished);
  }
}

async function copyDatabase(path: string, target: string): Promise<void> {
  const source = openExisting(path, openToRead);
  try {
    makeFolderOf(target);
    // All pages in one step: one read transaction, which no writer waits for and none can make start again.
    await source.raw.backup(target, { progress: () => 0x7fff_ffff });
  } finally {
    source.close();
  }
}

/** The report of a copy, which is then a single file without a log. */
function soundCopy(path: string, what: string): DatabaseReport {
  const copy = openExisting(path, openDatabase);
  try {
    const found = requireSound(copy, what);
    copy.raw.pragma("journal_mode = DELETE");
    return found;
  } finally {
    copy.close();
  }
}

/** Makes the folder that a file is about to be written into. Throws `storage_*` where that cannot be. */
function makeFolderOf(path: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
  } catch (error) {
    throw toStorageError(error, path);
  }
}

/** Removes a database with its logs. */
export function removeFiles(path: string): void {
  for (const ending of ["", "-wal", "-shm", "-journal"]) rmSync(`${path}${ending}`, { force: true });
}

/**
 * Puts a backup in the place of a database. What was there is kept beside it under the name that is given back. Throws
 * `conflict` while a server uses the database, `storage_corrupt` for a backup that is not sound and `storage_newer` for
 * one of a later version: then nothing was changed.
 */
export async function restoreDatabase(
  backup: string,
  path: string,
): Promise<{ report: DatabaseReport; kept: string | undefined }> {
  makeFolderOf(path);
  const lock = lockDatabase(path);
  const unfinished = `${path}.restoring`;
  try {
    removeFiles(unfinished);
    await copyDatabase(backup, unfinished);
    const found = soundCopy(unfinished, `The backup ${backup}`);
    const kept = existsSync(path) ? `${path}.before-${new Date().toISOString().replaceAll(/[:.]/g, "-")}` : undefined;
    // The log goes first: it must never stand beside a database that is not its own.
    for (const ending of ["-wal", "-shm", ""]) {
      if (existsSync(`${path}${ending}`)) renameSync(`${path}${ending}`, `${kept ?? unfinished}${ending}`);
    }
    rmSync(markFile(path), { force: true });
    renameSync(unfinished, path);
    return { report: found, kept };
  } finally {
    removeFiles(unfinished);
    lock.release();
  }
}

/** What is removed of sessions untouched for a while: old checkpoints, or the whole session. */
export type PruneStrategy = "keep_latest" | "delete";

/**
 * Prunes every session that was last touched before `before` and does nothing now, and gives the freed space back.
 * `keep_latest` keeps each conversation with its last state. Throws `conflict` while a server uses the database: that
 * one prunes through `POST /threads/prune`.
 */
export async function pruneDatabase(
  path: string,
  options: { before: Date; strategy: PruneStrategy },
): Promise<{ pruned: number; bytesBefore: number; bytesAfter: number }> {
  if (!existsSync(path)) throw new AppError("not_found", `There is no database ${path}.`);
  const bytesBefore = statSync(path).size;
  const storage = createSqliteStorage(path);
  let pruned = 0;
  try {
    for (const { session_id } of await untouched(storage.sessions, options.before.toISOString())) {
      if (options.strategy === "delete") await storage.sessions.delete(session_id);
      else await storage.checkpointer.prune(session_id, { keepLatest: 1 });
      pruned += 1;
    }
  } finally {
    await storage.close();
  }
  await shrink(path);
  return { pruned, bytesBefore, bytesAfter: statSync(path).size };
}

async function untouched(
  sessions: ReturnType<typeof createSqliteStorage>["sessions"],
  before: string,
): Promise<Session[]> {
  const found: Session[] = [];
  for (;;) {
    const page = { limit: 500, offset: found.length, sort_by: "updated_at", sort_order: "asc" } as const;
    const { sessions: rows } = await sessions.search(page);
    const old = rows.filter(({ updated_at }) => updated_at < before);
    found.push(...old);
    if (old.length < page.limit) return found.filter(({ status }) => status !== "busy");
  }
}

/** Gives free pages back. A file from before pages could be given back one by one is written anew. */
async function shrink(path: string): Promise<void> {
  const lock = lockDatabase(path);
  const database = openDatabase(path);
  try {
    if (database.raw.pragma("auto_vacuum", { simple: true }) === 0) {
      database.raw.pragma("auto_vacuum = INCREMENTAL");
      database.read(() => database.raw.exec("VACUUM"));
    } else await vacuum(database);
    // The mark describes the file as it was before.
    rmSync(markFile(path), { force: true });
  } finally {
    database.close();
    lock.release();
  }
}
