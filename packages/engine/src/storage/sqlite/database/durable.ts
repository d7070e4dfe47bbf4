import { setImmediate as nextTurn } from "node:timers/promises";
import { type Database, retryBusy, toStorageError } from "./database.ts";
import { closeSync, existsSync, openSync, readFileSync, readSync, rmSync, statSync, writeSync } from "node:fs";
import { crc32 } from "node:zlib";
import { z } from "zod";
import { type Durations, noDurations } from "../../../metrics/families.ts";
import { AppError } from "../../../errors/errors.ts";

interface Job {
  /** Does the work, and gives what resolves its promise once it is on disk. */
  run: () => () => void;
  reject: (error: unknown) => void;
}

/**
 * Group commit: pieces of work that arrive together share one transaction and one fsync, because a commit that waits
 * for the disk blocks the event loop (0.4-1.7 ms measured, whatever it holds). One per database.
 */
export class GroupCommit {
  readonly #database: Database;
  readonly #mark: CommitMark | undefined;
  /** How long the commits took. */
  readonly times: Durations = noDurations([0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2]);
  #queue: Job[] = [];
  #flushing: Promise<void> | undefined;

  /** `mark` counts every durable commit. */
  constructor(database: Database, mark?: CommitMark) {
    this.#database = database;
    this.#mark = mark;
  }

  /**
   * Queues synchronous work; resolves with its result once it is on disk (fsync). When `work` throws, only its own
   * changes are taken back and only its own promise rejects; when the commit fails, all of the group reject.
   */
  durably<T>(work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#queue.push({
        run: () => {
          const result = work();
          return () => resolve(result);
        },
        reject,
      });
      this.#flushing ??= this.#flushSoon();
    });
  }

  /** Runs synchronous work in one transaction without waiting for the disk; waits while another process has the lock. */
  transaction<T>(work: () => T): Promise<T> {
    return retryBusy(() => this.#database.transaction(work));
  }

  /** Resolves when everything queued so far has been committed or refused. */
  async settled(): Promise<void> {
    while (this.#flushing !== undefined) await this.#flushing;
  }

  async #flushSoon(): Promise<void> {
    await nextTurn();
    while (this.#queue.length > 0) {
      const jobs = this.#queue;
      this.#queue = [];
      try {
        const done = await retryBusy(() => this.#commit(jobs));
        for (const settle of done) {
          settle();
          // What waited for a commit goes on at once, a whole step of a run: twenty in one turn of the loop are a stall.
          await nextTurn();
        }
      } catch (error) {
        for (const job of jobs) job.reject(error);
      }
    }
    this.#flushing = undefined;
  }

  /** Commits what succeeded, with an fsync, and rejects the rest. Busy comes out before any job has run. */
  #commit(jobs: readonly Job[]): (() => void)[] {
    const { raw } = this.#database;
    const begun = performance.now();
    try {
      raw.exec("PRAGMA synchronous = FULL");
      const done = this.#database.transaction(() => {
        const attempted = jobs.flatMap((job) => this.#attempt(job) ?? []);
        this.#mark?.count();
        return attempted;
      });
      this.#mark?.committed();
      // Counted in place: it is a part of every run.
      const seconds = (performance.now() - begun) / 1_000;
      const { bounds, counts } = this.times;
      const index = bounds.findIndex((bound) => seconds <= bound);
      const place = index === -1 ? bounds.length : index;
      counts[place] = (counts[place] ?? 0) + 1;
      this.times.sum += seconds;
      return done;
    } catch (error) {
      throw toStorageError(error, this.#database.path);
    } finally {
      raw.exec("PRAGMA synchronous = NORMAL");
    }
  }

  #attempt(job: Job): (() => void) | undefined {
    try {
      return this.#database.transaction(job.run);
    } catch (error) {
      // A failure that ended the outer transaction took the other jobs with it: let it end the group.
      if (!this.#database.raw.inTransaction) throw error;
      job.reject(error);
      return undefined;
    }
  }
}

/** Files up to this size, in bytes, are read whole when they are opened and closed; larger ones would hold up a start. */
const checkedSize = 256 * 1024 * 1024;
/** Bytes of the mark: one write of less than a sector is there or it is not. */
const markSize = 256;

/** What the file beside the database says: which database, how many commits are on disk, and how it was when it was closed. */
const Mark = z.object({
  database: z.string(),
  commits: z.number().int(),
  closed: z.object({ bytes: z.number().int(), crc: z.number().int() }).nullable(),
});
type Mark = z.infer<typeof Mark>;

/** Writes a text into an open file, at a place. */
type Put = (file: number, text: string, at: number) => unknown;

/** The file of the mark that belongs to a database. */
export function markFile(path: string): string {
  return `${path}.mark`;
}

function damaged(path: string, what: string, suggestion?: string): AppError {
  return new AppError("storage_corrupt", `The database ${path} is damaged: ${what}.`, {
    suggestion:
      suggestion ?? "Restore it from a backup (millrace restore <file>), or move it away to start with an empty one.",
  });
}

function readMark(path: string): Mark | undefined {
  if (!existsSync(markFile(path))) return undefined;
  try {
    return Mark.safeParse(JSON.parse(readFileSync(markFile(path), "utf8"))).data;
  } catch {
    // A mark that a power cut has torn says nothing; the database is then looked through as after any bad end.
    return undefined;
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** The checksum of a whole file, read piece by piece. */
function fileChecksum(path: string): number {
  const buffer = Buffer.allocUnsafe(1024 * 1024);
  const file = openSync(path, "r");
  try {
    let sum = 0;
    for (;;) {
      const count = readSync(file, buffer, 0, buffer.length, null);
      if (count === 0) return sum;
      sum = crc32(buffer.subarray(0, count), sum);
    }
  } finally {
    closeSync(file);
  }
}

const Identity = z.object({ applied_at: z.string() });

/** Which database this is: the moment its first table was made. Empty for one that is not ours yet. */
function identityOf(database: Database): string {
  const table = database.raw.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'migrations'").get();
  if (table === undefined) return "";
  return (
    Identity.safeParse(database.raw.prepare("SELECT applied_at FROM migrations WHERE id = 1").get()).data?.applied_at ??
    ""
  );
}

function commitsIn(database: Database): number {
  return Number(database.raw.pragma("user_version", { simple: true }));
}

/**
 * A witness outside the database of what was committed in it. SQLite takes an empty file for a new database, a
 * write-ahead log that was cut for a shorter one and a page it can read for a good one: without a witness a damaged
 * file would pass for a shorter history. One per open database; the caller holds the lock.
 */
export class CommitMark {
  readonly #path: string;
  readonly #database: Database;
  readonly #identity: string;
  readonly #file: number;
  readonly #put: Put;
  #commits: number;
  /** The last commit is on disk, and the file does not say so: it could not be written. */
  #isBehind = false;

  /** `database` has to be open, checked (`checkFile`, `checkDatabase`) and migrated. `put` is for the fault tests. */
  constructor(database: Database, put: Put = writeSync) {
    this.#database = database;
    this.#put = put;
    this.#path = database.path;
    this.#identity = identityOf(database);
    this.#commits = commitsIn(database);
    try {
      this.#file = openSync(markFile(this.#path), "w");
      this.#write(null);
    } catch (error) {
      throw toStorageError(error, markFile(this.#path));
    }
  }

  /** Counts a commit inside its transaction. Throws where the one before could not be told, and still cannot be. */
  count(): void {
    if (this.#isBehind) this.#write(null);
    this.#isBehind = false;
    // The header's number has 31 bits; starting again only costs one comparison that says nothing.
    this.#database.raw.pragma(`user_version = ${(this.#commits + 1) % 0x7fff_ffff}`);
  }

  /**
   * Says outside that the commit which `count` counted is on disk. Never throws: who waits for a commit that is there
   * must not hear that it was refused. The next commit is, where the file still cannot be written then.
   */
  committed(): void {
    this.#commits = (this.#commits + 1) % 0x7fff_ffff;
    try {
      this.#write(null);
    } catch {
      this.#isBehind = true;
    }
  }

  /** Says how the file is now that the database is closed. */
  close(): void {
    try {
      const bytes = sizeOf(this.#path);
      // Another program, a backup for instance, still has the log open: then there is no last state to describe.
      if (sizeOf(`${this.#path}-wal`) === 0 && bytes <= checkedSize)
        this.#write({ bytes, crc: fileChecksum(this.#path) });
    } finally {
      closeSync(this.#file);
    }
  }

  #write(closed: Mark["closed"]): void {
    const mark: Mark = { database: this.#identity, commits: this.#commits, closed };
    this.#put(this.#file, JSON.stringify(mark).padEnd(markSize), 0);
  }
}

/** Whether the file was closed in order; if not, `checkDatabase` has to look at it. Throws `storage_corrupt`. */
export function checkFile(path: string): { closedCleanly: boolean } {
  const log = sizeOf(`${path}-wal`);
  if (!existsSync(path)) {
    if (log > 0) throw damaged(path, "its write-ahead log is there, the file itself is not");
    rmSync(markFile(path), { force: true });
    return { closedCleanly: true };
  }
  // Ours are made under another name and renamed when they have tables: one that is empty was emptied.
  if (sizeOf(path) === 0) throw damaged(path, "the file is empty");
  const mark = readMark(path);
  if (mark?.closed === undefined || mark.closed === null) return { closedCleanly: false };
  const { bytes, crc } = mark.closed;
  if (log > 0 || sizeOf(path) !== bytes || fileChecksum(path) !== crc) {
    const remedy = `Restore it from a backup (millrace restore <file>). If it was changed on purpose, remove ${markFile(path)}.`;
    throw damaged(path, "it is not as Millrace has left it", remedy);
  }
  return { closedCleanly: true };
}

/**
 * Looks at a database that was not closed in order: all that was acknowledged must be there, and its pages must be
 * sound. Throws `storage_corrupt`.
 */
export function checkDatabase(database: Database): void {
  const { path } = database;
  const mark = readMark(path);
  if (mark !== undefined && mark.closed === null && mark.database !== "") {
    const remedy = `Restore it from a backup (millrace restore <file>). If it was changed on purpose, remove ${markFile(path)}.`;
    const identity = database.read(() => identityOf(database));
    if (identity !== mark.database) throw damaged(path, "it is another database than the one that was here", remedy);
    const commits = database.read(() => commitsIn(database));
    if (commits < mark.commits && mark.commits - commits < 0x3fff_ffff) {
      throw damaged(path, `its last ${mark.commits - commits} acknowledged commit(s) are missing`, remedy);
    }
  }
  if (sizeOf(path) > checkedSize) return;
  const problem = database.read(() => database.raw.pragma("integrity_check(1)", { simple: true }));
  if (problem !== "ok") throw damaged(path, String(problem).replaceAll("\n", " "));
}
