import { KeyedMutex } from "../../../concurrency/by-key.ts";
import type { CacheLimits } from "../../checkpoints/cache.ts";
import { CheckpointStore } from "../../checkpoints/checkpoint-store.ts";
import { type Codec, createCodec } from "../../checkpoints/codec.ts";
import type { StoredData } from "../../checkpoints/rows.ts";
import { singleServer, type Cluster } from "../../cluster.ts";
import type { PostgresDatabase } from "../database/database.ts";
import { isTaken } from "../database/errors.ts";
import { type Batch, writeRows } from "./batch.ts";
import { PostgresCheckpointRows } from "./rows.ts";
import type { Place } from "./loader.ts";

/** Milliseconds that a write waits for an earlier one of its thread, which may wait for a database that is away. */
const patience = 120_000;

/** Threads in PostgreSQL: their rows, what memory knows of them, and the order of the writes to each. */
export class Threads {
  readonly rows: PostgresCheckpointRows;
  readonly store: CheckpointStore;
  /** Values that refer to the messages of a thread, for other tables. */
  readonly codec: Codec;
  readonly #database: PostgresDatabase;
  readonly #cluster: Cluster;
  readonly #turns = new KeyedMutex(patience);
  /** What alone writes to a thread, here: an attempt, or what makes its session. */
  readonly #writers = new Map<string, object>();
  #peerEpoch = 0;

  constructor(database: PostgresDatabase, limits?: CacheLimits, cluster: Cluster = singleServer) {
    this.#database = database;
    this.#cluster = cluster;
    this.rows = new PostgresCheckpointRows(database, cluster);
    this.store = new CheckpointStore(this.rows, limits);
    this.codec = this.#refreshing(createCodec(this.store));
    // What memory knows may be ahead of a server that has come back.
    database.onLost(() => this.store.cache.clear());
  }

  /** A codec that knows all messages of the thread, also those that another server has written. */
  #refreshing(codec: Codec): Codec {
    const decode: Codec["decode"] = (threadId, data) => {
      this.refresh(threadId);
      return codec.decode(threadId, data);
    };
    return { ...codec, decode };
  }

  /**
   * An attempt, say, begins to work in a thread: no other server writes there until it is over. One that an earlier writer
   * of this server has lost may have.
   */
  setWriter(threadId: string, writer: object): void {
    this.#writers.delete(threadId);
    this.refresh(threadId);
    this.#writers.set(threadId, writer);
  }

  /** The writer is done. */
  clearWriter(threadId: string, writer: object): void {
    if (this.#writers.get(threadId) === writer) this.#writers.delete(threadId);
  }

  /** Holds a thread for `work`. */
  async withWriter<Result>(threadId: string, work: () => Promise<Result>): Promise<Result> {
    this.setWriter(threadId, work);
    try {
      return await work();
    } finally {
      this.clearWriter(threadId, work);
    }
  }

  /** Forgets what memory knows of a thread where another server may have written since. */
  refresh(threadId?: string): void {
    const { serverCount, peerEpoch } = this.#cluster;
    if (serverCount > 1) {
      if (threadId === undefined || this.#writers.has(threadId)) return;
      this.store.cache.delete(threadId);
      this.rows.expectAny(threadId);
    } else if (peerEpoch !== this.#peerEpoch) {
      this.#peerEpoch = peerEpoch;
      this.store.cache.clear();
      this.rows.expectAny();
    }
  }

  /** Runs synchronous work that writes to a thread, after all earlier writes to it; `send` sends what it writes. */
  async write(place: Omit<Place, "isKnown">, work: () => void, send = this.#send): Promise<void> {
    const { threadId } = place;
    await this.#turns.run(threadId, async () => {
      this.refresh(threadId);
      try {
        await this.#writeOnce({ ...place, isKnown: this.#knows(place) }, work, send);
      } catch (error) {
        if (!isTaken(error)) throw error;
        // Another process has made what this one took for new: it looks, and writes again.
        this.store.cache.delete(threadId);
        await this.#writeOnce({ ...place, isNewRun: false }, work, send);
      }
    });
  }

  async #writeOnce(place: Place, work: () => void, send: (batch: Batch) => Promise<void>): Promise<void> {
    const done = await this.rows.write(work, place, send);
    const state = this.store.cache.get(place.threadId);
    if (state !== undefined) this.rows.learnItems(state.items, done);
  }

  /** Whether memory has everything that a write looks for. */
  #knows({ threadId, name, run, isNewRun = false }: Omit<Place, "isKnown">): boolean {
    const state = this.store.cache.get(threadId);
    if (state === undefined || !this.rows.knowsItems(state.items) || !state.namespaces.has(name)) return false;
    return run === undefined || isNewRun || state.runs.has(run);
  }

  /** Forgets a thread when its rows are gone, or may be. */
  async forgetAfter<Result>(threadId: string, removing: Promise<Result>): Promise<Result> {
    try {
      return await removing;
    } finally {
      this.store.cache.delete(threadId);
    }
  }

  /** Forgets all threads when rows of some are gone. */
  async forgetAllAfter<Result>(removing: Promise<Result>): Promise<Result> {
    const result = await removing;
    this.store.cache.clear();
    return result;
  }

  /** `Codec.encode` of a value whose new messages are written where they stand, and go with its row. */
  async encodeWhole(threadId: string, value: unknown): Promise<StoredData> {
    let data: StoredData = "";
    const work = (): void => {
      data = this.codec.encode(threadId, value, "all");
    };
    const send = async (batch: Batch): Promise<void> => {
      if (batch.threads.length > 0) await this.#send(batch);
    };
    await this.write({ threadId, name: "", run: undefined }, work, send);
    return data;
  }

  readonly #send = async (batch: Batch): Promise<void> => {
    await this.#database.rows(writeRows, [null, null, null, null, null, null, ...batch.toValues()]);
  };
}
