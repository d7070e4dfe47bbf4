import type { CompiledGraph } from "@langchain/langgraph/web";
import type { StateSnapshot } from "@langchain/langgraph";
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  type PendingWrite,
  TASKS,
} from "@langchain/langgraph-checkpoint";
import { addToMessages } from "../message-list.ts";

/** A compiled graph with the server's checkpointer. */
export type ServedGraph = CompiledGraph<string>;

/** Whose state it is. */
export interface StatePlace {
  graph: ServedGraph;
  sessionId: string;
}

/** What an agent knows of graphs that call its loop; nothing of other people's graphs. */
export interface GraphExtension {
  /** The nodes that call the loop: what it says in a subgraph is said by its node. None of other people's graphs. */
  loopNodes(graph: ServedGraph): ReadonlySet<string>;
  /** A state as a reader is shown it. */
  shownState(state: StateSnapshot, place: StatePlace): Promise<StateSnapshot>;
  /** The values of a session at rest as a reader is shown them; `interrupts` are its open questions by their steps. */
  shownValues<Values>(
    values: Values,
    interrupts: Readonly<Record<string, unknown>>,
    place: StatePlace,
  ): Promise<Values>;
}

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

/** The reducers of LangGraph that make messages of what they are given. */
const messageReducers = new Set(["messagesStateReducer", "messagesDeltaReducer"]);

/** What has channels, by their names. */
export interface WithChannels {
  channels: Record<string, unknown>;
}

/**
 * Whether a channel's reducer is LangGraph's one for messages, or ours in its place. Asked by name: the graph may be
 * made of another copy of LangGraph. A reducer of a user's own is neither, whatever it keeps.
 */
export function holdsMessages({ channels }: WithChannels, name: string): boolean {
  const channel = Object.hasOwn(channels, name) ? channels[name] : undefined;
  if (typeof channel !== "object" || channel === null) return false;
  const reducer: unknown =
    "operator" in channel ? channel.operator : "reducer" in channel ? channel.reducer : undefined;
  return typeof reducer === "function" && (reducer === addToMessages || messageReducers.has(reducer.name));
}
