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
import type { UnstoredEvents } from "../../attempt-store.ts";
import { listCheckpoints, pruneThread, removeRun } from "../../checkpoints/list-checkpoints.ts";
import { readTuple, preparePut, preparePutWrites, WriteBatcher } from "../../checkpoints/saver.ts";
import { type AttemptStream, retryDuringOutage } from "./stream.ts";
import type { Threads } from "./threads.ts";
import type { Place } from "./loader.ts";

/**
 * The checkpointer in PostgreSQL: messages and list elements are stored once and append-only, for any graph, so that a turn
 * costs what is new in it. It keeps the task path of every write, and knows which run wrote what.
 */
export class PostgresSaver extends BaseCheckpointSaver {
  readonly #threads: Threads;
  /** The writes of a run, each group with the events emitted before it; `undefined` where there is no run. */
  readonly #batcher: WriteBatcher | undefined;
  #place: Place = { threadId: "", name: "", run: undefined };

  /** `attempt`: of one attempt of a run, with the `events` emitted before a write in its transaction. */
  constructor(threads: Threads, attempt?: { stream: AttemptStream; events: UnstoredEvents }) {
    super();
    this.#threads = threads;
    this.#batcher =
      attempt &&
      new WriteBatcher((work) =>
        attempt.events.flushWith((events, usage) =>
          attempt.stream.write({ events, usage }, { place: this.#place, work }),
        ),
      );
  }

  async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    this.#threads.refresh(threadOf(config));
    const read = () => readTuple(this.#threads.store, config);
    return await (this.#batcher === undefined ? read() : retryDuringOutage(read));
  }

  async *list(config: RunnableConfig, options: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    this.#threads.refresh(threadOf(config));
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
    const put = preparePut(this.#threads.store, config, [checkpoint, metadata, newVersions]);
    await this.#write(put, metadata.source === "input" ? "input" : "now");
    return put.config;
  }

  async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string, taskPath = ""): Promise<void> {
    const put = preparePutWrites(this.#threads.store, config, writes, { id: taskId, path: taskPath });
    if (writes.length > 0) await this.#write(put, "soon");
  }

  /** See `RunCheckpointer`; of one that writes for no run there is nothing to close. */
  async close(): Promise<void> {
    await this.#batcher?.close();
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
    this.#threads.refresh(threadId);
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

  async #write(
    { place, work }: { place: Place; work: () => void },
    when: Parameters<WriteBatcher["write"]>[1],
  ): Promise<void> {
    if (this.#batcher === undefined) return await this.#threads.write(place, work);
    this.#place = place;
    await this.#batcher.write(work, when);
  }
}

/** The thread that a config names. */
function threadOf({ configurable }: RunnableConfig): string | undefined {
  const id: unknown = configurable?.["thread_id"];
  return typeof id === "string" ? id : undefined;
}
