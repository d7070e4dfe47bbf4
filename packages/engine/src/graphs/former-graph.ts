import type { RunnableConfig } from "@langchain/core/runnables";
import {
  BaseCheckpointSaver,
  TASKS,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  type PendingWrite,
} from "@langchain/langgraph-checkpoint";

/**
 * Whether a graph is of LangGraph 0.2 or 0.3. They keep the sends of a step beside their channels, tell of a pause only
 * sometimes, and know fewer stream modes; since 0.4 every graph has a channel for sends.
 */
export function isFormerGraph(graph: object): boolean {
  const channels: unknown = "channels" in graph ? graph.channels : undefined;
  return typeof channels === "object" && channels !== null && !(TASKS in channels);
}

/** The checkpointer as a graph's own LangGraph knows it. */
export function checkpointerFor(graph: object, saver: BaseCheckpointSaver): BaseCheckpointSaver {
  return isFormerGraph(graph) && !(saver instanceof FormerSaver) ? new FormerSaver(saver) : saver;
}

/**
 * Another checkpointer, whose checkpoints have their sends where LangGraph below 0.4 looks for them: in
 * `pending_sends`, and in no channel. A version of that channel would make it pause again and again at a breakpoint.
 */
class FormerSaver extends BaseCheckpointSaver {
  readonly #saver: BaseCheckpointSaver;

  constructor(saver: BaseCheckpointSaver) {
    super(saver.serde);
    this.#saver = saver;
  }

  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const tuple = await this.#saver.getTuple(config);
    return tuple === undefined ? undefined : withPendingSends(tuple);
  }

  override async *list(config: RunnableConfig, options?: CheckpointListOptions): AsyncGenerator<CheckpointTuple> {
    for await (const tuple of this.#saver.list(config, options)) yield withPendingSends(tuple);
  }

  override put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    return this.#saver.put(config, checkpoint, metadata, newVersions);
  }

  override putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string, path?: string): Promise<void> {
    return this.#saver.putWrites(config, writes, taskId, path);
  }

  override deleteThread(threadId: string): Promise<void> {
    return this.#saver.deleteThread(threadId);
  }
}

function withPendingSends(tuple: CheckpointTuple): CheckpointTuple {
  const { [TASKS]: sends, ...values } = tuple.checkpoint.channel_values;
  const { [TASKS]: _version, ...versions } = tuple.checkpoint.channel_versions;
  const former = {
    ...tuple.checkpoint,
    channel_values: values,
    channel_versions: versions,
    pending_sends: Array.isArray(sends) ? sends : [],
  };
  return { ...tuple, checkpoint: former };
}
