import type { RunnableConfig } from "@langchain/core/runnables";
import { END, type StateSnapshot } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { AppError, errorMessage } from "../../errors/errors.ts";
import { dropMissingSends, missingNodes } from "../../graphs/changed-graph.ts";
import type { Graphs } from "../../graphs/load.ts";
import type { ServedGraph } from "../../graphs/served-graph.ts";
import { lastExecutedRun } from "../../runs/admission/executed-runs.ts";
import { requireCheckpoint } from "../../runs/admission/next-nodes.ts";
import { readPause } from "../../runs/status.ts";
import type { JsonObject, Session } from "../../storage/records.ts";
import { storedConfigurable, requireSession } from "../sessions.ts";
import type { EditParts } from "./edit-messages.ts";
import type { SessionRuns } from "../scope/session-storage.ts";
import { readInputMessages } from "./run-input.ts";
import { contains } from "../../storage/items/contains.ts";
import { toCommand } from "../../runs/attempt/execute.ts";
import { noSession } from "../scope/guard.ts";
import type { FillParts } from "../scope/owner-scope.ts";

/** A checkpoint of a session; all fields are optional: the newest root one. */
export interface CheckpointReference {
  checkpoint_id?: string | undefined;
  checkpoint_ns?: string | undefined;
  checkpoint_map?: JsonObject | null | undefined;
}

/**
 * A session's state at a checkpoint, with subgraphs on request. `undefined` if the session has no graph yet. Throws
 * `not_found` for an unknown checkpoint or graph.
 */
export async function readState(
  { graphs, runs }: { graphs: Graphs; runs: Pick<SessionRuns, "get" | "list"> },
  session: Session,
  reference: CheckpointReference = {},
  subgraphs = false,
): Promise<StateSnapshot | undefined> {
  const graph = await graphOf({ graphs, runs }, session, "threads.read");
  if (graph === undefined) return undefined;
  const snapshot = await graph.getState(checkpointConfig(session, reference), { subgraphs });
  if (reference.checkpoint_id !== undefined && snapshot.createdAt === undefined) {
    throw new AppError("not_found", `Checkpoint ${reference.checkpoint_id} not found`);
  }
  return await createRunMetadata(runs)(await graphs.shownState(snapshot, { graph, sessionId: session.session_id }));
}

/** A change of a session's state, as if a node had returned it. `values: null` only forks the checkpoint. */
export interface StateUpdate {
  values?: unknown;
  as_node?: string | undefined;
  checkpoint: CheckpointReference;
}

/**
 * Writes a new checkpoint and returns its configuration. No run starts meanwhile. Throws `conflict` while one is
 * active, `not_found` for an unknown checkpoint, `invalid_parameter` if the session has no graph yet, or the graph
 * rejects the values or the node.
 */
export function updateState(
  parts: EditParts & { graphs: Graphs; runs: Pick<SessionRuns, "list"> },
  sessionId: string,
  update: StateUpdate,
): Promise<RunnableConfig> {
  return parts.runs.between(sessionId, () => writeState(parts, sessionId, update));
}

async function writeState(
  { storage, graphs, runs }: Pick<EditParts, "storage"> & { graphs: Graphs; runs: Pick<SessionRuns, "list"> },
  sessionId: string,
  update: StateUpdate,
): Promise<RunnableConfig> {
  const session = await requireSession(storage, sessionId);
  if (session.status === "busy") {
    throw new AppError("conflict", "Thread is busy", { message_zh: "会话正在运行。请等待运行结束，或先停止它。" });
  }
  const graph = await graphOf({ graphs, runs }, session, "threads.update");
  if (graph === undefined) throw noGraph(session.session_id);
  const { checkpoint_id, checkpoint_ns = "" } = update.checkpoint;
  // LangGraph would start with an empty state, and the conversation would seem lost.
  if (checkpoint_id !== undefined) {
    await requireCheckpoint({ thread_id: sessionId, checkpoint_ns, checkpoint_id }, storage.checkpointer);
  }
  requireNodeName(update.as_node);
  const config = checkpointConfig(session, update.checkpoint);
  const values = graphs.hasLoop(graph) ? readInputMessages(update.values, "values") : update.values;
  const written = await graph.updateState(config, values ?? null, update.as_node).catch(throwRefusal);
  if (update.as_node === END) await dropMissingSends(graph, sessionId, storage.checkpointer);
  await storage.sessions.update(sessionId, await restAfter(graph, session, storage.checkpointer));
  return written;
}

/** The open questions of a waiting session after a state change; nothing new otherwise. */
async function restAfter(
  graph: ServedGraph,
  { session_id, status, interrupts: before }: Session,
  checkpointer: BaseCheckpointSaver,
): Promise<Partial<Pick<Session, "interrupts" | "status">>> {
  if (status !== "interrupted" && Object.keys(before).length === 0) return {};
  const newest = { configurable: { thread_id: session_id, checkpoint_ns: "" } };
  if ((await missingNodes(graph, newest, checkpointer)).length > 0) return {};
  const { interrupts, waiting } = await readPause(graph, session_id);
  return { interrupts, ...(status === "interrupted" && !waiting && { status: "idle" }) };
}

/**
 * The graph of a session's last run, or the one it was created for; `undefined` before. A factory gets the last run's
 * configuration, including its assistant's; before the first run, and in a copy, the session's stored configuration.
 * Throws `not_found` for one that is not served.
 */
export async function graphOf(
  { graphs, runs }: { graphs: Graphs; runs: Pick<SessionRuns, "list"> },
  session: Session,
  access: "threads.read" | "threads.update",
): Promise<ServedGraph | undefined> {
  const graphId = session.metadata["graph_id"];
  if (typeof graphId !== "string") return undefined;
  const fixed = graphs.fixed(graphId);
  if (fixed !== undefined) return fixed;
  const run = await lastExecutedRun(runs, session.session_id);
  if (run?.graph_id === graphId) return await graphs.ofRun(run, access);
  return await graphs.ofSession(graphId, { ...storedConfigurable(session), thread_id: session.session_id }, access);
}

/** The error for changing a session without a graph. */
function noGraph(sessionId: string): AppError {
  return new AppError("invalid_parameter", `Thread ${sessionId} has no graph ID`, {
    suggestion: "Run an assistant on it first, or create it with metadata.graph_id.",
  });
}

/** The checkpoint to read, for LangGraph. */
function checkpointConfig(session: Session, reference: CheckpointReference): RunnableConfig {
  const { checkpoint_id, checkpoint_ns, checkpoint_map } = reference;
  return {
    configurable: {
      ...storedConfigurable(session),
      thread_id: session.session_id,
      checkpoint_ns: checkpoint_ns ?? "",
      ...(checkpoint_id !== undefined && { checkpoint_id }),
      ...(checkpoint_map && { checkpoint_map }),
    },
  };
}

/** Throws `invalid_parameter` for a name on every object's prototype, which LangGraph would take for a node. */
function requireNodeName(name: string | undefined): void {
  if (name === undefined || !(name in Object.prototype)) return;
  throw new AppError("invalid_parameter", `No node can have the name ${JSON.stringify(name)}.`);
}

/** Rethrows a graph's error from a change: as `invalid_parameter` if the input caused it. */
function throwRefusal(error: unknown): never {
  throw isRefusal(error) ? new AppError("invalid_parameter", errorMessage(error), { cause: error }) : error;
}

/** Errors of LangGraph and state schemas for values, nodes or namespaces they reject. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (
    ["InvalidUpdateError", "ZodError", "$ZodError"].includes(error.name) ||
    /^Subgraph .* not found/su.test(error.message)
  );
}

/** A range of a session's history, newest first. */
interface HistoryQuery {
  limit: number;
  before?: string | undefined;
  /** Filters the states' metadata, including that of their runs. */
  metadata?: JsonObject | undefined;
  checkpoint: CheckpointReference;
}

/** Metadata keys that the states themselves have. */
const ownKeys = new Set(["source", "step", "run_id", "thread_id"]);

/** The states of a session, newest first; none if it has no graph yet. */
export async function readHistory(
  { graphs, runs }: { graphs: Graphs; runs: Pick<SessionRuns, "get" | "list"> },
  session: Session,
  { limit, before, metadata = {}, checkpoint }: HistoryQuery,
): Promise<StateSnapshot[]> {
  const graph = await graphOf({ graphs, runs }, session, "threads.read");
  if (graph === undefined) return [];
  const filter = Object.fromEntries(Object.entries(metadata).filter(([key]) => ownKeys.has(key)));
  const isOwn = Object.keys(filter).length === Object.keys(metadata).length;
  const history = graph.getStateHistory(checkpointConfig(session, checkpoint), {
    // A filter on run metadata can only be applied after reading the states.
    ...(isOwn && { limit }),
    ...(before !== undefined && {
      before: { configurable: { thread_id: session.session_id, checkpoint_id: before } },
    }),
    ...(Object.keys(filter).length > 0 && { filter }),
  });
  const withRunMetadata = createRunMetadata(runs);
  const states: StateSnapshot[] = [];
  for await (const snapshot of history) {
    const state = await withRunMetadata(await graphs.shownState(snapshot, { graph, sessionId: session.session_id }));
    if (isOwn || contains(state.metadata, metadata)) states.push(state);
    if (states.length >= limit) break;
  }
  return states;
}

/** Adds the metadata of a state's run to its own. */
type WithRunMetadata = (state: StateSnapshot) => Promise<StateSnapshot>;

/**
 * The platform copies a run's metadata and configuration into each of its states; here a state refers to its run, and
 * each run is read once, also for subgraph states. A deleted run adds nothing.
 */
function createRunMetadata(runs: Pick<SessionRuns, "get">): WithRunMetadata {
  const known = new Map<string, Promise<JsonObject>>();
  const read = async (runId: string): Promise<JsonObject> => {
    const run = await runs.get(runId);
    return run === undefined ? {} : { ...run.metadata, assistant_id: run.assistant_id, graph_id: run.graph_id };
  };
  const withOwn: WithRunMetadata = async (state) => {
    const runId: unknown = state.metadata !== undefined && "run_id" in state.metadata && state.metadata.run_id;
    if (state.metadata === undefined || typeof runId !== "string") return state;
    const ofRun = known.get(runId) ?? read(runId);
    known.set(runId, ofRun);
    return { ...state, metadata: { ...(await ofRun), ...state.metadata } };
  };
  const withAll: WithRunMetadata = async (state) => {
    const whole = await withOwn(state);
    const nested = state.tasks.some((task) => task.state !== undefined && "values" in task.state);
    if (!nested) return whole;
    const tasks = state.tasks.map(async (task) => {
      const inner = task.state;
      return inner !== undefined && "values" in inner ? { ...task, state: await withAll(inner) } : task;
    });
    return { ...whole, tasks: await Promise.all(tasks) };
  };
  return withAll;
}

/** The writes of several nodes in one step, as if they had returned them; `command` precedes `values`. */
export interface Superstep {
  updates: { values?: unknown; command?: JsonObject | undefined; as_node: string }[];
}

/** A session being filled has no runs. */
const noRuns = { list: async () => [] };

/**
 * Writes imported states into a session step by step; the session waits for whatever the last step waits for
 * (`supersteps`). Returns the resulting session. Throws `invalid_parameter` if the session has no graph, or the graph
 * rejects the values or the node.
 */
export async function applySupersteps(
  { storage, graphs, runs }: FillParts & { graphs: Graphs },
  session: Session,
  supersteps: readonly Superstep[],
): Promise<Session> {
  const graph = await graphOf({ graphs, runs: noRuns }, session, "threads.update");
  if (graph === undefined) throw noGraph(session.session_id);
  for (const { as_node } of supersteps.flatMap(({ updates }) => updates)) requireNodeName(as_node);
  const readMessages = (values: unknown): unknown =>
    graphs.hasLoop(graph) ? readInputMessages(values, "values") : (values ?? null);
  const steps = supersteps.map(({ updates }) => ({
    updates: updates.map(({ values, command, as_node: asNode }) => ({
      values: command === undefined ? readMessages(values) : toCommand(command),
      asNode,
    })),
  }));
  return await runs.between(session.session_id, async () => {
    const config: RunnableConfig = checkpointConfig(session, {});
    await writeSteps(graph, config, steps).catch(throwRefusal);
    const { interrupts, waiting } = await readPause(graph, session.session_id);
    const rest = { interrupts, status: waiting ? ("interrupted" as const) : ("idle" as const) };
    const updated = await storage.sessions.update(session.session_id, rest);
    if (updated === undefined) throw noSession(session.session_id);
    return updated;
  });
}

/**
 * Graphs of the oldest versions change their state once per step. Throws `invalid_parameter` for a step they cannot do.
 */
async function writeSteps(
  graph: ServedGraph,
  config: RunnableConfig,
  steps: { updates: { values: unknown; asNode: string }[] }[],
): Promise<void> {
  if ("bulkUpdateState" in graph) {
    await graph.bulkUpdateState(config, steps);
    return;
  }
  const former: Pick<ServedGraph, "updateState"> = graph;
  for (const { updates } of steps) {
    const [update, ...others] = updates;
    if (update === undefined || others.length > 0) {
      throw new AppError("invalid_parameter", "The LangGraph of this graph takes one update in a superstep.", {
        suggestion: "Give each update a superstep of its own, or use @langchain/langgraph 0.2.74 or newer.",
      });
    }
    await former.updateState(config, update.values, update.asNode);
  }
}
