import type { RunnableConfig } from "@langchain/core/runnables";
import {
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  type PendingWrite,
} from "@langchain/langgraph-checkpoint";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import type { RunWriter, UnstoredEvents } from "../../attempt-store.ts";
import type { CacheLimits } from "../../checkpoints/cache.ts";
import { CheckpointStore } from "../../checkpoints/checkpoint-store.ts";
import { type Codec, createCodec, Reader } from "../../checkpoints/codec.ts";
import { type Database, isBusy, retryBusy } from "../database/database.ts";
import { storeEvents } from "../events/events.ts";
import { listCheckpoints, pruneThread, removeRun } from "../../checkpoints/list-checkpoints.ts";
import { readWrites } from "../../checkpoints/pending-writes.ts";
import {
  missingField,
  parseConfig,
  readTuple,
  preparePut,
  preparePutWrites,
  WriteBatcher,
} from "../../checkpoints/saver.ts";
import { vacuum } from "../database/lock-database.ts";
import { SqliteCheckpointRows } from "./rows.ts";

/** Whether the plain SqliteSaver has written into this file. */
function hasLegacyTables(database: Database): boolean {
  const sql = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'checkpoints'";
  return database.raw.prepare(sql).get() !== undefined;
}

/**
 * The checkpointer: a `SqliteSaver` that stores messages and list elements once and append-only, for any graph, so that
 * a turn costs what is new in it. It passes LangChain's validation suite, reads what the plain SqliteSaver wrote, keeps
 * the task path of every write, and knows which run wrote what.
 */
export class MillraceSaver extends SqliteSaver {
  /** Values that refer to the messages of a thread, for other tables. */
  readonly codec: Codec;
  readonly #database: Database;
  readonly #store: CheckpointStore;
  readonly #legacy: boolean;
  /** The writes of a run, each group with the events emitted before it; `undefined` where there is no run. */
  readonly #batcher: WriteBatcher | undefined;

  /**
   * `database` must be open and migrated. `beside`: of the same rows as that one, but for one attempt of a run, with the
   * `events` emitted before a write in its transaction, and with the writes of a step and the checkpoint after it in one.
   */
  constructor(
    database: Database,
    beside?: { saver: MillraceSaver; of: RunWriter; events: UnstoredEvents },
    limits?: CacheLimits,
  ) {
    super(database.raw);
    this.#database = database;
    this.#batcher =
      beside &&
      new WriteBatcher((work) =>
        beside.events.flushWith((events, usage) =>
          this.#write(() => {
            storeEvents(database, this.codec, beside.of, { events, usage });
            work();
          }),
        ),
      );
    // What memory knows of the rows is known once.
    const saver = beside?.saver;
    this.#store = saver === undefined ? new CheckpointStore(new SqliteCheckpointRows(database), limits) : saver.#store;
    this.#legacy = saver === undefined ? hasLegacyTables(database) : saver.#legacy;
    this.codec = saver?.codec ?? createCodec(this.#store);
  }

  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const tuple = await readTuple(this.#store, config);
    return tuple ?? (this.#legacy ? await this.#legacyTuple(await super.getTuple(config)) : undefined);
  }

  override async *list(config: RunnableConfig, options: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    let { limit } = options;
    for await (const tuple of listCheckpoints(this.#store, config, options)) {
      if (limit !== undefined && limit-- <= 0) return;
      yield tuple;
    }
    if (!this.#legacy || (limit !== undefined && limit <= 0)) return;
    yield* super.list(config, { ...options, ...(limit === undefined ? {} : { limit }) });
  }

  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions?: ChannelVersions,
  ): Promise<RunnableConfig> {
    const put = preparePut(this.#store, config, [checkpoint, metadata, newVersions]);
    await (this.#batcher?.write(put.work, "now") ?? this.#write(put.work));
    return put.config;
  }

  override async putWrites(
    config: RunnableConfig,
    writes: PendingWrite[],
    taskId: string,
    taskPath = "",
  ): Promise<void> {
    const { work } = preparePutWrites(this.#store, config, writes, { id: taskId, path: taskPath });
    if (writes.length === 0) return;
    await (this.#batcher?.write(work, "soon") ?? this.#write(work));
  }

  /** See `RunCheckpointer`; of one that writes for no run there is nothing to close. */
  async close(): Promise<void> {
    await this.#batcher?.close();
  }

  /** Removes everything of a thread, messages included. */
  override async deleteThread(threadId: string): Promise<void> {
    await this.#write(() => this.deleteThreadRows(threadId));
  }

  /** `deleteThread` inside the caller's transaction. */
  deleteThreadRows(threadId: string): void {
    this.#store.cache.delete(threadId);
    this.#store.rows.deleteThread(threadId);
    if (!this.#legacy) return;
    this.#database.prepare("DELETE FROM checkpoints WHERE thread_id = ?").run(threadId);
    this.#database.prepare("DELETE FROM writes WHERE thread_id = ?").run(threadId);
  }

  /** Whether the run left any checkpoint or write in the thread: if not, it has to start from its input. */
  hasRun(threadId: string, runId: string): boolean {
    return this.#database.read(() => {
      const state = this.#store.thread(threadId);
      return state !== undefined && this.#store.rows.findRun(state.items.key, runId) !== undefined;
    });
  }

  /** Removes the checkpoints and writes of one run, so that the thread is as it was before it. */
  async deleteRun(threadId: string, runId: string): Promise<void> {
    await this.#write(() => this.deleteRunRows(threadId, runId));
  }

  /** `deleteRun` inside the caller's transaction. */
  deleteRunRows(threadId: string, runId: string): void {
    const state = this.#store.thread(threadId);
    if (state !== undefined) removeRun(this.#store, state, runId);
    this.#store.cache.delete(threadId);
  }

  /** Removes all but the newest `keepLatest` (at least 1) checkpoints of each namespace. Messages stay. */
  async prune(threadId: string, options: { keepLatest: number }): Promise<void> {
    await this.#write(() => {
      const state = this.#store.thread(threadId);
      if (state !== undefined) pruneThread(this.#store, state, Math.max(1, options.keepLatest));
      this.#store.cache.delete(threadId);
    });
  }

  /** Gives back what deleted and pruned threads have left free in the file. */
  async vacuum(): Promise<void> {
    await vacuum(this.#database);
  }

  /** A checkpoint of the plain SqliteSaver, with what we wrote at it since. */
  async #legacyTuple(tuple: CheckpointTuple | undefined): Promise<CheckpointTuple | undefined> {
    if (tuple === undefined) return undefined;
    const { threadId, name } = parseConfig(tuple.config);
    if (threadId === undefined) throw missingField("thread_id");
    const items = this.#database.read(() => this.#store.thread(threadId)?.items);
    const reader = new Reader(this.#store.rows, threadId, items);
    const ours = await reader.build(() => {
      const state = this.#store.thread(threadId);
      const namespace = state === undefined ? undefined : this.#store.namespace(state, name);
      if (namespace === undefined) return [];
      const key = this.#store.rows.findCheckpoint(namespace.key, tuple.checkpoint.id)?.key;
      return key === undefined ? [] : readWrites(this.#store, threadId, key, reader);
    });
    return { ...tuple, pendingWrites: [...(tuple.pendingWrites ?? []), ...ours] };
  }

  /** One transaction, tried at once; only when another process holds the lock does it wait, without blocking. */
  async #write(work: () => void): Promise<void> {
    try {
      this.#database.transaction(work);
    } catch (error) {
      if (!isBusy(error instanceof Error ? (error.cause ?? error) : error)) throw error;
      await retryBusy(() => this.#database.transaction(work));
    }
  }
}
