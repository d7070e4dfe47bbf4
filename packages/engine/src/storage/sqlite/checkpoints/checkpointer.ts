import type { RunnableConfig } from "@langchain/core/runnables";
import {
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  getCheckpointId,
  type PendingWrite,
} from "@langchain/langgraph-checkpoint";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import type { RunWriter, UnstoredEvents } from "../../attempt-store.ts";
import type { CacheLimits } from "../cache.ts";
import { CheckpointStore } from "./checkpoint-store.ts";
import { findSnapshot, storeCheckpoint, tupleOf } from "./checkpoints.ts";
import { type Codec, createCodec } from "./codec.ts";
import { type Database, isBusy, retryBusy } from "../database/database.ts";
import { storeTold } from "../events/events.ts";
import { listCheckpoints, pruneThread, removeRun } from "./list-checkpoints.ts";
import { readWrites, storeWrites } from "./pending-writes.ts";
import { Reader } from "../events/event-batch.ts";
import { vacuum } from "../database/lock-database.ts";

function textOf(value: unknown): string | undefined {
  return (typeof value === "string" && value !== "") || typeof value === "number" ? String(value) : undefined;
}

/** Where a config points: a thread, a namespace in it and a checkpoint there; and the run that asks. */
function placeOf(config: RunnableConfig) {
  const { configurable, metadata } = config;
  return {
    threadId: textOf(configurable?.["thread_id"]),
    name: textOf(configurable?.["checkpoint_ns"]) ?? "",
    id: textOf(getCheckpointId(config)),
    run: textOf(configurable?.["run_id"] ?? metadata?.["run_id"]),
  };
}

/**
 * For the run that asks: LangGraph drops the input of a run where the state says that it is of the same run, and
 * LangGraph's own savers do not say it. Whoever goes on with a run gives no input.
 */
function withoutRun(tuple: CheckpointTuple): CheckpointTuple {
  if (tuple.metadata !== undefined && "run_id" in tuple.metadata) delete tuple.metadata.run_id;
  return tuple;
}

function missing(key: "thread_id" | "checkpoint_id"): Error {
  return new Error(`Missing "${key}" field in passed "config.configurable".`);
}

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
  /** The writes of a run, each group with the events told before it; `undefined` where there is no run. */
  readonly #groups: WriteGroups | undefined;

  /**
   * `database` must be open and migrated. `beside`: of the same rows as that one, but for one attempt of a run, with the
   * `events` told before a write in its transaction, and with the writes of a step and the checkpoint after it in one.
   */
  constructor(
    database: Database,
    beside?: { saver: MillraceSaver; of: RunWriter; events: UnstoredEvents },
    limits?: CacheLimits,
  ) {
    super(database.raw);
    this.#database = database;
    this.#groups =
      beside &&
      new WriteGroups((work) =>
        beside.events.carry((events, usage) =>
          this.#write(() => {
            storeTold(database, this.codec, beside.of, { events, usage });
            work();
          }),
        ),
      );
    // What memory knows of the rows is known once.
    const saver = beside?.saver;
    this.#store = saver === undefined ? new CheckpointStore(database, limits) : saver.#store;
    this.#legacy = saver === undefined ? hasLegacyTables(database) : saver.#legacy;
    this.codec = saver?.codec ?? createCodec(this.#store);
  }

  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const { threadId, name, id, run } = placeOf(config);
    if (threadId === undefined) return undefined;
    const tuple = await this.#read(threadId, (reader) => {
      const state = this.#store.thread(threadId);
      const at = state === undefined ? undefined : { store: this.#store, state, name };
      const snapshot = at === undefined ? undefined : findSnapshot(at, id);
      if (at === undefined || snapshot === undefined) return undefined;
      const namespace = this.#store.namespace(at.state, name);
      const found = tupleOf(at, snapshot, reader, namespace?.last === snapshot);
      if (namespace !== undefined) this.#store.cache.touch(at.state, name, namespace);
      // A copied state names its run in the metadata alone, and whoever reads it is no run.
      return snapshot.run !== undefined && snapshot.run === run ? withoutRun(found) : found;
    });
    if (tuple === undefined) return this.#legacy ? this.#legacyTuple(await super.getTuple(config)) : undefined;
    return id === undefined ? tuple : { ...tuple, config };
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
    newVersions: ChannelVersions = checkpoint.channel_versions,
  ): Promise<RunnableConfig> {
    const { threadId, name, id: parent, run } = placeOf(config);
    if (threadId === undefined) throw missing("thread_id");
    const work = (): void => {
      const state = this.#store.openThread(threadId);
      const place = { id: checkpoint.id, parent, run };
      storeCheckpoint({ store: this.#store, state, name }, place, checkpoint, metadata, newVersions);
    };
    await (this.#groups?.write(work, "now") ?? this.#write(work));
    return { configurable: { thread_id: threadId, checkpoint_ns: name, checkpoint_id: checkpoint.id } };
  }

  override async putWrites(
    config: RunnableConfig,
    writes: PendingWrite[],
    taskId: string,
    taskPath = "",
  ): Promise<void> {
    const { threadId, name, id, run } = placeOf(config);
    if (threadId === undefined) throw missing("thread_id");
    if (id === undefined) throw missing("checkpoint_id");
    if (writes.length === 0) return;
    const work = (): void => {
      const state = this.#store.openThread(threadId);
      const namespace = this.#store.openNamespace(state, name);
      const key = this.#store.openKey(namespace, id);
      storeWrites(this.#store, state, key, { id: taskId, path: taskPath, run }, writes);
    };
    await (this.#groups?.write(work, "soon") ?? this.#write(work));
  }

  /** See `RunCheckpointer`; of one that writes for no run there is nothing to close. */
  async close(): Promise<void> {
    await this.#groups?.close();
  }

  /** Removes everything of a thread, messages included. */
  override async deleteThread(threadId: string): Promise<void> {
    await this.#write(() => this.deleteThreadRows(threadId));
  }

  /** `deleteThread` inside the caller's transaction. */
  deleteThreadRows(threadId: string): void {
    this.#store.cache.delete(threadId);
    this.#database.prepare("DELETE FROM checkpoint_threads WHERE thread_id = ?").run(threadId);
    if (!this.#legacy) return;
    this.#database.prepare("DELETE FROM checkpoints WHERE thread_id = ?").run(threadId);
    this.#database.prepare("DELETE FROM writes WHERE thread_id = ?").run(threadId);
  }

  /** Whether the run left any checkpoint or write in the thread: if not, it has to start from its input. */
  hasRun(threadId: string, runId: string): boolean {
    return this.#database.read(() => {
      const state = this.#store.thread(threadId);
      return state !== undefined && this.#store.run(state, runId) !== undefined;
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
    const { threadId, name } = placeOf(tuple.config);
    if (threadId === undefined) throw missing("thread_id");
    const ours = await this.#read(threadId, (reader) => {
      const state = this.#store.thread(threadId);
      const namespace = state === undefined ? undefined : this.#store.namespace(state, name);
      if (namespace === undefined) return [];
      const key = this.#store.findKey(namespace, tuple.checkpoint.id);
      return key === undefined ? [] : readWrites(this.#store, threadId, key, reader);
    });
    return { ...tuple, pendingWrites: [...(tuple.pendingWrites ?? []), ...ours] };
  }

  #read<T>(threadId: string, build: (reader: Reader) => T): Promise<T> {
    const items = this.#database.read(() => this.#store.thread(threadId)?.items);
    const reader = new Reader(this.#database, threadId, items);
    return reader.build(() => build(reader));
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

interface Group {
  works: (() => void)[];
  written: PromiseWithResolvers<void>;
  turn: NodeJS.Immediate;
}

/**
 * Writes of one run that are one transaction where they come in one turn of the event loop: the checkpoint of a step
 * follows the writes of its last task at once, and a commit costs more than what it holds. Work that fails takes its
 * group with it, as it fails the step.
 */
export class WriteGroups {
  readonly #write: (work: () => void) => Promise<void>;
  #open: Group | undefined;
  #isClosed = false;
  /** The write of the last group. */
  #last: Promise<void> = Promise.resolve();

  /** `write` does synchronous work in one transaction, one after the other. */
  constructor(write: (work: () => void) => Promise<void>) {
    this.#write = write;
  }

  /** Writes `now`, after what waits; or `soon`: with the next `now`, and in the next turn of the event loop at the latest. */
  write(work: () => void, when: "now" | "soon"): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    const group = (this.#open ??= {
      works: [],
      written: Promise.withResolvers(),
      turn: setImmediate(() => this.#end(group)),
    });
    group.works.push(work);
    if (when === "now") this.#end(group);
    return group.written.promise;
  }

  /** Drops every later work, and resolves when what has begun is written, or has failed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#open !== undefined) this.#end(this.#open);
    await Promise.allSettled([this.#last]);
  }

  #end(group: Group): void {
    this.#open = undefined;
    clearImmediate(group.turn);
    this.#last = this.#write(() => {
      for (const work of group.works) work();
    });
    group.written.resolve(this.#last);
  }
}
