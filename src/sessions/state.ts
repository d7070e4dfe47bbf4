import type { RunnableConfig } from "@langchain/core/runnables";
import type { StateSnapshot } from "@langchain/langgraph";
import { AppError, errorMessage } from "../errors.ts";
import type { Graphs, ServedGraph } from "../graph/load.ts";
import { readPause } from "../runs/execute.ts";
import type { JsonObject, Session } from "../storage/records.ts";
import { keptConfigurable } from "./configuration.ts";
import type { EditParts } from "./edit-messages.ts";
import { checksMessages, readInputMessages } from "./run-input.ts";
import { requireSession } from "./sessions.ts";

/** Which checkpoint of a session; all of it may be missing: the newest one at the root. */
export interface CheckpointReference {
  checkpoint_id?: string | undefined;
  checkpoint_ns?: string | undefined;
  checkpoint_map?: JsonObject | null | undefined;
}

/**
 * The state of a session at a checkpoint, with that of its subgraphs when asked. `undefined` when the session has had no
 * graph yet. Throws `not_found` for a checkpoint or a graph that does not exist.
 */
export async function readState(
  graphs: Graphs,
  session: Session,
  reference: CheckpointReference = {},
  subgraphs = false,
): Promise<StateSnapshot | undefined> {
  const graph = graphOf(graphs, session);
  if (graph === undefined) return undefined;
  const snapshot = await graph.getState(checkpointConfig(session, reference), { subgraphs });
  if (reference.checkpoint_id !== undefined && snapshot.createdAt === undefined) {
    throw new AppError("not_found", `Checkpoint ${reference.checkpoint_id} not found`);
  }
  return snapshot;
}

/** What to change in a session's state, as if a node had returned it. `values: null` only forks the checkpoint. */
export interface StateUpdate {
  values?: unknown;
  as_node?: string | undefined;
  checkpoint: CheckpointReference;
}

/**
 * Writes a new checkpoint; answers with its configuration. No run begins meanwhile. Throws `conflict` while one is active,
 * `invalid_parameter` when the session has no graph yet, or the graph refuses the values or the node.
 */
export function updateState(
  parts: EditParts & { graphs: Graphs },
  sessionId: string,
  update: StateUpdate,
): Promise<RunnableConfig> {
  return parts.runs.between(sessionId, () => writeState(parts, sessionId, update));
}

async function writeState(
  { storage, graphs }: Pick<EditParts, "storage"> & { graphs: Graphs },
  sessionId: string,
  update: StateUpdate,
): Promise<RunnableConfig> {
  const session = await requireSession(storage, sessionId);
  if (session.status === "busy") throw new AppError("conflict", "Thread is busy");
  const graph = graphOf(graphs, session);
  if (graph === undefined) {
    throw new AppError("invalid_parameter", `Thread ${session.session_id} has no graph ID`, {
      suggestion: "Run an assistant on it first, or create it with metadata.graph_id.",
    });
  }
  const config = checkpointConfig(session, update.checkpoint);
  const values = checksMessages(graph) ? readInputMessages(update.values, "values") : update.values;
  const written = await graph.updateState(config, values ?? null, update.as_node).catch((error: unknown) => {
    throw isRefusal(error) ? new AppError("invalid_parameter", errorMessage(error), { cause: error }) : error;
  });
  if (Object.keys(session.interrupts).length > 0) {
    const { interrupts } = await readPause(graph, sessionId);
    await storage.sessions.update(sessionId, { interrupts });
  } else {
    await storage.sessions.update(sessionId, {});
  }
  return written;
}

/** Which part of a session's history, newest first. */
export interface HistoryQuery {
  limit: number;
  before?: string | undefined;
  /** Filters the checkpoints' metadata. */
  metadata?: JsonObject | undefined;
  checkpoint: CheckpointReference;
}

/** The states of a session, newest first; none when it has had no graph yet. */
export async function readHistory(graphs: Graphs, session: Session, query: HistoryQuery): Promise<StateSnapshot[]> {
  const graph = graphOf(graphs, session);
  if (graph === undefined) return [];
  const states: StateSnapshot[] = [];
  const history = graph.getStateHistory(checkpointConfig(session, query.checkpoint), {
    limit: query.limit,
    ...(query.before !== undefined && {
      before: { configurable: { thread_id: session.session_id, checkpoint_id: query.before } },
    }),
    ...(query.metadata !== undefined && { filter: query.metadata }),
  });
  for await (const state of history) states.push(state);
  return states;
}

function graphOf(graphs: Graphs, session: Session): ServedGraph | undefined {
  const graphId = session.metadata["graph_id"];
  return typeof graphId === "string" ? graphs.get(graphId) : undefined;
}

function checkpointConfig(session: Session, reference: CheckpointReference): RunnableConfig {
  const { checkpoint_id, checkpoint_ns, checkpoint_map } = reference;
  return {
    configurable: {
      ...keptConfigurable(session),
      thread_id: session.session_id,
      checkpoint_ns: checkpoint_ns ?? "",
      ...(checkpoint_id !== undefined && { checkpoint_id }),
      ...(checkpoint_map && { checkpoint_map }),
    },
  };
}

/** What LangGraph and state schemas throw at values, a node or a namespace they do not accept. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (
    ["InvalidUpdateError", "ZodError", "$ZodError"].includes(error.name) ||
    /^Subgraph .* not found/su.test(error.message)
  );
}
