import type { RunnableConfig } from "@langchain/core/runnables";
import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  type PendingWrite,
} from "@langchain/langgraph-checkpoint";
import { KeyedMutex } from "../../../concurrency/keyed-mutex.ts";
import type { UnstoredEvents } from "../../attempt-store.ts";
import type { CacheLimits } from "../../checkpoints/cache.ts";
import { CheckpointStore } from "../../checkpoints/checkpoint-store.ts";
import { type Codec, createCodec } from "../../checkpoints/codec.ts";
import { listCheckpoints, pruneThread, removeRun } from "../../checkpoints/list-checkpoints.ts";
import type { Data } from "../../checkpoints/rows.ts";
import { readTuple, toPut, toPutWrites, WriteGroups } from "../../checkpoints/saver.ts";
import type { PostgresDatabase } from "../database/database.ts";
import type { Batch } from "./batch.ts";
import { PostgresCheckpointRows } from "./rows.ts";
import type { AttemptStream } from "./stream.ts";
import type { Place } from "./work.ts";

/** Milliseconds that a write waits for an earlier one of its thread, which may wait for a database that is away. */
const patience = 120_000;

/** Threads in PostgreSQL: their rows, what memory knows of them, and the order of the writes to each. */
export class Threads {
  readonly rows: PostgresCheckpointRows;
  readonly store: CheckpointStore;
  /** Values that refer to the messages of a thread, for other tables. */
  readonly codec: Codec;
  readonly #database: PostgresDatabase;
  readonly #turns = new KeyedMutex(patience);

  constructor(database: PostgresDatabase, limits?: CacheLimits) {
    this.#database = database;
    this.rows = new PostgresCheckpointRows(database);
    this.store = new CheckpointStore(this.rows, limits);
    this.codec = createCodec(this.store);
  }

  /** Runs synchronous work that writes to a thread, after all earlier writes to it; `send` sends what it writes. */
  async write(place: Omit<Place, "isKnown">, work: () => void, send = this.#send): Promise<void> {
    const { threadId, name, run } = place;
    await this.#turns.run(threadId, () => {
      const state = this.store.cache.get(threadId);
      const isKnown =
        state !== undefined &&
        this.rows.knowsItems(state.items) &&
        state.namespaces.has(name) &&
        (run === undefined || state.runs.has(run));
      return this.rows.write(work, { threadId, name, run, isKnown }, send);
    });
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
  async encodeWhole(threadId: string, value: unknown): Promise<Data> {
    let data: Data = "";
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
    const { sql, values } = batch.toStatement(undefined);
    await this.#database.rows(sql, values);
  };
}

/**
 * The checkpointer in PostgreSQL: messages and list elements are stored once and append-only, for any graph, so that a turn
 * costs what is new in it. It keeps the task path of every write, and knows which run wrote what.
 */
export class PostgresSaver extends BaseCheckpointSaver {
  readonly #threads: Threads;
  /** The writes of a run, each group with the events told before it; `undefined` where there is no run. */
  readonly #groups: WriteGroups | undefined;
  #place: Place = { threadId: "", name: "", run: undefined };

  /** `attempt`: of one attempt of a run, with the `events` told before a write in its transaction. */
  constructor(threads: Threads, attempt?: { stream: AttemptStream; events: UnstoredEvents }) {
    super();
    this.#threads = threads;
    this.#groups =
      attempt &&
      new WriteGroups((work) =>
        attempt.events.carry((events, usage) => attempt.stream.write({ events, usage }, { place: this.#place, work })),
      );
  }

  async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    return await readTuple(this.#threads.store, config);
  }

  async *list(config: RunnableConfig, options: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    let { limit } = options;
    for await (const tuple of listCheckpoints(this.#threads.store, config, options)) {
      if (limit !== undefined && limit-- <= 0) return;
      yield tuple;
    }
  }

  async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions?: ChannelVersions,
  ): Promise<RunnableConfig> {
    const put = toPut(this.#threads.store, config, [checkpoint, metadata, newVersions]);
    await this.#write(put, "now");
    return put.config;
  }

  async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string, taskPath = ""): Promise<void> {
    const put = toPutWrites(this.#threads.store, config, writes, { id: taskId, path: taskPath });
    if (writes.length > 0) await this.#write(put, "soon");
  }

  /** See `RunCheckpointer`; of one that writes for no run there is nothing to close. */
  async close(): Promise<void> {
    await this.#groups?.close();
  }

  /** Removes everything of a thread, messages included. */
  async deleteThread(threadId: string): Promise<void> {
    await this.#change(threadId, () => {
      this.#threads.store.cache.delete(threadId);
      this.#threads.rows.deleteThread(threadId);
    });
  }

  /** Whether the run left any checkpoint or write in the thread: if not, it has to start from its input. */
  async hasRun(threadId: string, runId: string): Promise<boolean> {
    const { rows, store } = this.#threads;
    return await rows.read(
      () => {
        const state = store.thread(threadId);
        return state !== undefined && rows.findRun(state.items.key, runId) !== undefined;
      },
      { threadId, name: "", run: runId },
    );
  }

  /** Removes the checkpoints and writes of one run, so that the thread is as it was before it. */
  async deleteRun(threadId: string, runId: string): Promise<void> {
    const { store } = this.#threads;
    await this.#change(threadId, () => {
      const state = store.thread(threadId);
      if (state !== undefined) removeRun(store, state, runId);
      store.cache.delete(threadId);
    });
  }

  /** Removes all but the newest `keepLatest` (at least 1) checkpoints of each namespace. Messages stay. */
  async prune(threadId: string, options: { keepLatest: number }): Promise<void> {
    const { store } = this.#threads;
    await this.#change(threadId, () => {
      const state = store.thread(threadId);
      if (state !== undefined) pruneThread(store, state, Math.max(1, options.keepLatest));
      store.cache.delete(threadId);
    });
  }

  /** PostgreSQL gives back by itself what deleted and pruned threads have left free. */
  async vacuum(): Promise<void> {
    await Promise.resolve();
  }

  async #change(threadId: string, work: () => void): Promise<void> {
    await this.#threads.write({ threadId, name: "", run: undefined }, work);
  }

  async #write({ place, work }: { place: Place; work: () => void }, when: "now" | "soon"): Promise<void> {
    if (this.#groups === undefined) return await this.#threads.write(place, work);
    this.#place = place;
    await this.#groups.write(work, when);
  }
}
