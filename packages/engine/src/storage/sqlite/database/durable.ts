import { setImmediate as nextTurn } from "node:timers/promises";
import type { CommitMark } from "./commit-mark.ts";
import { retryBusy, toStorageError, type Database } from "./database.ts";

interface Job {
  work: () => void;
  settle: () => void;
  reject: (error: unknown) => void;
}

/**
 * Group commit: pieces of work that arrive together share one transaction and one fsync, because a commit that waits
 * for the disk blocks the event loop (0.4-1.7 ms measured, whatever it holds). One per database.
 */
export class GroupCommit {
  readonly #database: Database;
  readonly #mark: CommitMark | undefined;
  #queue: Job[] = [];
  #flushing: Promise<void> | undefined;

  /** `mark` is told of every commit that was waited for. */
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
      let settle = (): void => {};
      this.#queue.push({
        work: () => {
          const result = work();
          settle = () => resolve(result);
        },
        settle: () => settle(),
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
        for (const job of done) {
          job.settle();
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
  #commit(jobs: readonly Job[]): Job[] {
    const { raw } = this.#database;
    try {
      raw.exec("PRAGMA synchronous = FULL");
      const done = this.#database.transaction(() => {
        const attempted = jobs.filter((job) => this.#attempt(job));
        this.#mark?.count();
        return attempted;
      });
      this.#mark?.committed();
      return done;
    } catch (error) {
      throw toStorageError(error, this.#database.path);
    } finally {
      raw.exec("PRAGMA synchronous = NORMAL");
    }
  }

  #attempt(job: Job): boolean {
    try {
      this.#database.transaction(job.work);
      return true;
    } catch (error) {
      // A failure that ended the outer transaction took the other jobs with it: let it end the group.
      if (!this.#database.raw.inTransaction) throw error;
      job.reject(error);
      return false;
    }
  }
}
