import { z } from "zod";
import type { Cluster } from "../../cluster.ts";
import type { PostgresDatabase } from "../database/database.ts";
import { AbsentThreads } from "./absent-threads.ts";
import { Batch } from "./batch.ts";
import { NotLoaded } from "./items.ts";
import { Loader, type Place } from "./loader.ts";

/** One piece of work: what it has read, what it writes, and how memory forgets it. */
export interface Work {
  loader: Loader;
  batch: Batch;
  /** Threads, namespaces and checkpoints that are made here: they have no rows yet. */
  fresh: Set<number>;
  /** What was made here, by the names under which it would be looked for. */
  made: Map<string, unknown>;
  undo: (() => void)[];
}

const Block = z.object({ first: z.number() });
/** How many keys a block has: the sequence's increment. */
const blockSize = 1000;

/**
 * Runs synchronous work over rows that have to be waited for: it reads what was loaded, and where it lacks a row it is
 * stopped, the row is loaded, and it runs again. What it writes is collected, and is one statement at its end.
 */
export class WorkRunner {
  readonly #database: PostgresDatabase;
  readonly #cluster: Cluster;
  readonly #absent = new AbsentThreads();
  #current: Work | undefined;
  #keys = { next: 0, end: 0 };

  constructor(database: PostgresDatabase, cluster: Cluster) {
    this.#database = database;
    this.#cluster = cluster;
  }

  /** The work that runs now. */
  get current(): Work {
    if (this.#current === undefined) throw new Error("Checkpoints are read and written by `read` and `write` only.");
    return this.#current;
  }

  /** A run is about to begin in a thread that has no rows; nothing else writes to it before. */
  expectNone(threadId: string): void {
    this.#absent.expect(threadId);
  }

  /** Another server may have written to a thread, or to any. */
  expectAny(threadId?: string): void {
    this.#absent.forget(threadId);
  }

  /**
   * The next key is greater than one that was given before, by whichever server: each takes keys in blocks, and where clocks
   * differ, the keys of a thread's states say which is newer.
   */
  reserveKeysAbove(key: number): void {
    if (this.#keys.next <= key) this.#keys = { next: 0, end: 0 };
  }

  /** A key that no row has. */
  nextKey(): number {
    if (this.#keys.next >= this.#keys.end) {
      throw new NotLoaded(async () => {
        const [row] = await this.#database.read("SELECT nextval('checkpoint_keys') AS first");
        const { first } = Block.parse(row);
        this.#keys = { next: first, end: first + blockSize };
      });
    }
    return this.#keys.next++;
  }

  /** The result of work that reads. */
  async read<Result>(work: () => Result, place?: Place): Promise<Result> {
    const loader = new Loader(this.#database, this.#absent, place);
    return (await this.#repeat(work, loader, () => undefined)).result;
  }

  /**
   * Runs work that writes, and hands what it writes to `send`. What memory has noted of it is taken back when either
   * fails, and before it runs again. Gives the work that was written.
   */
  async write(work: () => void, place: Place, send: (batch: Batch) => Promise<void>): Promise<Work> {
    const loader = new Loader(this.#database, this.#absent, place);
    if (place.isKnown !== true) await loader.prefetch();
    const takeBack = ({ undo }: Work): void => {
      for (const step of undo.toReversed()) step();
    };
    const { done } = await this.#repeat(work, loader, takeBack);
    try {
      await send(done.batch);
    } catch (error) {
      takeBack(done);
      throw error;
    }
    return done;
  }

  async #repeat<Result>(
    work: () => Result,
    loader: Loader,
    takeBack: (work: Work) => void,
  ): Promise<{ result: Result; done: Work }> {
    for (;;) {
      const current: Work = { loader, batch: new Batch(this.#cluster.id), fresh: new Set(), made: new Map(), undo: [] };
      const before = this.#current;
      this.#current = current;
      let missing: NotLoaded;
      try {
        return { result: work(), done: current };
      } catch (error) {
        takeBack(current);
        if (!(error instanceof NotLoaded)) throw error;
        missing = error;
      } finally {
        this.#current = before;
      }
      await missing.load();
    }
  }
}
