import { setImmediate as nextTurn } from "node:timers/promises";
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  type ChannelVersions,
  type Checkpoint,
  type CheckpointMetadata,
  type CheckpointTuple,
  getCheckpointId,
  type PendingWrite,
} from "@langchain/langgraph-checkpoint";
import type { CheckpointStore } from "./checkpoint-store.ts";
import { findSnapshot, storeCheckpoint, toCheckpointTuple } from "./checkpoints.ts";
import { storeWrites } from "./pending-writes.ts";
import { Reader } from "./codec.ts";

function textOf(value: unknown): string | undefined {
  return (typeof value === "string" && value !== "") || typeof value === "number" ? String(value) : undefined;
}

/** Where a config points: a thread, a namespace in it and a checkpoint there; and the run that asks. */
export function parseConfig(config: RunnableConfig) {
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
 * LangGraph's own savers do not say it. A run that is resumed has no input.
 */
function withoutRun(tuple: CheckpointTuple): CheckpointTuple {
  if (tuple.metadata !== undefined && "run_id" in tuple.metadata) delete tuple.metadata.run_id;
  return tuple;
}

/** The error for a config that names no thread, or no checkpoint. */
export function missingField(key: "thread_id" | "checkpoint_id"): Error {
  return new Error(`Missing "${key}" field in passed "config.configurable".`);
}

/** `getTuple` of a checkpointer over `store`. */
export async function readTuple(store: CheckpointStore, config: RunnableConfig): Promise<CheckpointTuple | undefined> {
  const { threadId, name, id, run } = parseConfig(config);
  if (threadId === undefined) return undefined;
  const items = await store.rows.read(() => store.thread(threadId)?.items);
  if (items === undefined) return undefined;
  const reader = new Reader(store.rows, threadId, items);
  const tuple = await reader.build(() => {
    const state = store.thread(threadId);
    const at = state === undefined ? undefined : { store, state, name };
    const snapshot = at === undefined ? undefined : findSnapshot(at, id);
    if (at === undefined || snapshot === undefined) return undefined;
    const namespace = store.namespace(at.state, name);
    const found = toCheckpointTuple(at, snapshot, reader, namespace?.last === snapshot);
    if (namespace !== undefined) store.cache.touch(at.state, name, namespace);
    // A copied state names its run in the metadata alone, and is not read by that run.
    return snapshot.run !== undefined && snapshot.run === run ? withoutRun(found) : found;
  });
  return tuple === undefined || id === undefined ? tuple : { ...tuple, config };
}

/** Work that writes a checkpoint in the transaction of its caller, and where the checkpoint then is. */
export interface PreparedPut {
  place: ReturnType<typeof parseConfig> & { threadId: string };
  work: () => void;
  config: RunnableConfig;
}

/** `put` of a checkpointer over `store`, to be done. */
export function preparePut(
  store: CheckpointStore,
  config: RunnableConfig,
  [checkpoint, metadata, newVersions = checkpoint.channel_versions]: [Checkpoint, CheckpointMetadata, ChannelVersions?],
): PreparedPut {
  const { threadId, name, id: parent, run } = parseConfig(config);
  if (threadId === undefined) throw missingField("thread_id");
  return {
    place: { threadId, name, id: parent, run },
    work: () => {
      const state = store.ensureThread(threadId);
      const place = { id: checkpoint.id, parent, run };
      storeCheckpoint({ store, state, name }, place, checkpoint, metadata, newVersions);
    },
    config: { configurable: { thread_id: threadId, checkpoint_ns: name, checkpoint_id: checkpoint.id } },
  };
}

/** `putWrites` of a checkpointer over `store`, to be done. */
export function preparePutWrites(
  store: CheckpointStore,
  config: RunnableConfig,
  writes: PendingWrite[],
  task: { id: string; path: string },
): Omit<PreparedPut, "config"> {
  const { threadId, name, id, run } = parseConfig(config);
  if (threadId === undefined) throw missingField("thread_id");
  if (id === undefined) throw missingField("checkpoint_id");
  return {
    place: { threadId, name, id, run },
    work: () => {
      const state = store.ensureThread(threadId);
      const namespace = store.ensureNamespace(state, name);
      const checkpoint = store.ensureCheckpoint(namespace, id);
      storeWrites(store, { state, namespace, checkpoint }, { ...task, run }, writes);
    },
  };
}

/** Works that are written, or fail, together. */
interface Batch {
  works: (() => void)[];
  written: PromiseWithResolvers<void>;
  turn: NodeJS.Immediate;
}

/**
 * Writes of one run that are one transaction where they come in one turn of the event loop: the checkpoint of a step
 * follows the writes of its last task at once, and a commit costs more than what it holds. So do those that come while an
 * earlier one is under way. Work that fails takes those of its turn with it, as it fails their step.
 */
export class WriteBatcher {
  readonly #write: (work: () => void) => Promise<void>;
  #open: Batch | undefined;
  #isClosed = false;
  /** Why a write failed whose caller did not wait for it. */
  #failure: { error: unknown } | undefined;
  /** What is written next, in this order. */
  readonly #waiting: Batch[] = [];
  #writing: Promise<void> | undefined;

  /** `write` does synchronous work in one transaction; it may do the work again before it has written it. */
  constructor(write: (work: () => void) => Promise<void>) {
    this.#write = write;
  }

  /**
   * Writes `now`, after what waits; or `soon`: with the next `now`, and in the next turn of the event loop at the latest. So is
   * the `input` of a graph, for which LangGraph does not wait before the first step: it resolves at once, and where it cannot
   * be written, nothing that comes after it is.
   */
  write(work: () => void, when: "now" | "soon" | "input"): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure.error);
    if (this.#isClosed) return Promise.resolve();
    const batch = (this.#open ??= {
      works: [],
      written: Promise.withResolvers(),
      turn: setImmediate(() => this.#end(batch)),
    });
    batch.works.push(work);
    if (when === "now") this.#end(batch);
    if (when !== "input") return batch.written.promise;
    batch.written.promise.catch((error: unknown) => {
      this.#failure ??= { error };
    });
    return Promise.resolve();
  }

  /** Drops every later work, and resolves when what has begun is written, or has failed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#open !== undefined) this.#end(this.#open);
    await this.#writing;
  }

  #end(batch: Batch): void {
    this.#open = undefined;
    clearImmediate(batch.turn);
    this.#waiting.push(batch);
    this.#writing ??= this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    /** How many of those that wait are written one by one, since they could not be together. */
    let apart = 0;
    while (this.#waiting.length > 0) {
      const batches = this.#waiting.splice(0, apart > 0 ? 1 : this.#waiting.length);
      apart = Math.max(0, apart - 1);
      let isWorking = false;
      try {
        await this.#write(() => {
          isWorking = true;
          for (const { works } of batches) for (const work of works) work();
          isWorking = false;
        });
        for (const { written } of batches) written.resolve();
      } catch (error) {
        if (isWorking && batches.length > 1) {
          this.#waiting.unshift(...batches);
          apart = batches.length;
        } else for (const { written } of batches) written.reject(error);
      }
      // What has waited for this write goes on first: its checkpoint then goes with the writes before it.
      if (this.#waiting.length > 0) await nextTurn();
    }
    this.#writing = undefined;
  }
}
