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

/** The session and checkpoint of a state. */
export interface StatePlace {
  graph: ServedGraph;
  sessionId: string;
}

/** What an agent knows about graphs that call its loop; nothing about foreign graphs. */
export interface GraphExtension {
  /** The nodes that call the loop: its messages in a subgraph are attributed to the node. None in foreign graphs. */
  loopNodes(graph: ServedGraph): ReadonlySet<string>;
  /** A state as readers see it. */
  shownState(state: StateSnapshot, place: StatePlace): Promise<StateSnapshot>;
  /** The values of an idle session as readers see them; `interrupts` are its open questions by step. */
  shownValues<Values>(
    values: Values,
    interrupts: Readonly<Record<string, unknown>>,
    place: StatePlace,
  ): Promise<Values>;
}

/**
 * Whether a graph uses LangGraph 0.2 or 0.3. They keep a step's sends outside the channels, report a pause only
 * sometimes, and know fewer stream modes; since 0.4 every graph has a channel for sends.
 */
export function isLegacyGraph(graph: object): boolean {
  const channels: unknown = "channels" in graph ? graph.channels : undefined;
  return typeof channels === "object" && channels !== null && !(TASKS in channels);
}

/** The checkpointer as a graph's own LangGraph knows it. */
export function checkpointerFor(graph: object, saver: BaseCheckpointSaver): BaseCheckpointSaver {
  return isLegacyGraph(graph) && !(saver instanceof FormerSaver) ? new FormerSaver(saver) : saver;
}

/**
 * Adapts a checkpointer for LangGraph below 0.4, which expects sends in `pending_sends` and not in a channel. A version
 * of that channel would make it pause again and again at a breakpoint.
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

/** LangGraph's reducers that turn their input into messages. */
const messageReducers = new Set(["messagesStateReducer", "messagesDeltaReducer"]);

/** What has channels, by their names. */
export interface WithChannels {
  channels: Record<string, unknown>;
}

/**
 * Whether a channel's reducer is LangGraph's one for messages, or ours in its place. Checked by name: the graph may use
 * another copy of LangGraph. A user's own reducer is neither, whatever it keeps.
 */
export function holdsMessages({ channels }: WithChannels, name: string): boolean {
  const channel = Object.hasOwn(channels, name) ? channels[name] : undefined;
  if (typeof channel !== "object" || channel === null) return false;
  const reducer: unknown =
    "operator" in channel ? channel.operator : "reducer" in channel ? channel.reducer : undefined;
  return typeof reducer === "function" && (reducer === addToMessages || messageReducers.has(reducer.name));
}
