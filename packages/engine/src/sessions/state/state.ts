import type { RunnableConfig } from "@langchain/core/runnables";
import type { StateSnapshot } from "@langchain/langgraph";
import { AppError, errorMessage } from "../../errors/errors.ts";
import type { Graphs } from "../../graphs/load.ts";
import type { ServedGraph } from "../../graphs/served-graph.ts";
import { lastWorkedRun } from "../../runs/admission/asking-run.ts";
import { readPause } from "../../runs/status.ts";
import { requireCheckpoint } from "../../runs/admission/draft.ts";
import type { JsonObject, Session } from "../../storage/records.ts";
import { keptConfigurable } from "../configuration.ts";
import type { EditParts } from "./edit-messages.ts";
import type { SessionRuns } from "../scope/session-storage.ts";
import { createRunMetadata } from "./run-metadata.ts";
import { readInputMessages } from "./run-input.ts";
import { requireSession } from "../sessions.ts";

/** Which checkpoint of a session; all of it may be missing: the newest one at the root. */
export interface CheckpointReference {
  checkpoint_id?: string | undefined;
  checkpoint_ns?: string | undefined;
  checkpoint_map?: JsonObject | null | undefined;
}

/**
 * The state of a session at a checkpoint, with that of its subgraphs when asked. `undefined` when the session has had
 * no graph yet. Throws `not_found` for a checkpoint or a graph that does not exist.
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

/** What to change in a session's state, as if a node had returned it. `values: null` only forks the checkpoint. */
export interface StateUpdate {
  values?: unknown;
  as_node?: string | undefined;
  checkpoint: CheckpointReference;
}

/**
 * Writes a new checkpoint; answers with its configuration. No run begins meanwhile. Throws `conflict` while one is
 * active, `not_found` for an unknown checkpoint, `invalid_parameter` when the session has no graph yet, or the graph
 * refuses the values or the node.
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
  if (session.status === "busy") throw new AppError("conflict", "Thread is busy");
  const graph = await graphOf({ graphs, runs }, session, "threads.update");
  if (graph === undefined) throw noGraph(session.session_id);
  const { checkpoint_id, checkpoint_ns = "" } = update.checkpoint;
  // LangGraph would begin with an empty state, and what was said would seem to be gone.
  if (checkpoint_id !== undefined) {
    await requireCheckpoint({ thread_id: sessionId, checkpoint_ns, checkpoint_id }, storage.checkpointer);
  }
  requireNodeName(update.as_node);
  const config = checkpointConfig(session, update.checkpoint);
  const values = graphs.hasLoop(graph) ? readInputMessages(update.values, "values") : update.values;
  const written = await graph.updateState(config, values ?? null, update.as_node).catch(throwRefusal);
  if (Object.keys(session.interrupts).length > 0) {
    const { interrupts } = await readPause(graph, sessionId);
    await storage.sessions.update(sessionId, { interrupts });
  } else {
    await storage.sessions.update(sessionId, {});
  }
  return written;
}

/**
 * The graph that a session last ran, or was made for; `undefined` before. A factory is asked with what its last run was
 * told, that of its assistant included; before the first, and in a copy, with what the session keeps as its
 * configuration. Throws `not_found` for one that is not served.
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
  const run = await lastWorkedRun(runs, session.session_id);
  if (run?.graph_id === graphId) return await graphs.ofRun(run, access);
  return await graphs.ofSession(graphId, { ...keptConfigurable(session), thread_id: session.session_id }, access);
}

/** The refusal of a change to a session whose graph nobody has named yet. */
export function noGraph(sessionId: string): AppError {
  return new AppError("invalid_parameter", `Thread ${sessionId} has no graph ID`, {
    suggestion: "Run an assistant on it first, or create it with metadata.graph_id.",
  });
}

/** Where in a session's states to look, for LangGraph. */
export function checkpointConfig(session: Session, reference: CheckpointReference): RunnableConfig {
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

/** Throws `invalid_parameter` for a name that every object has: LangGraph would take what it finds there for a node. */
export function requireNodeName(name: string | undefined): void {
  if (name === undefined || !(name in Object.prototype)) return;
  throw new AppError("invalid_parameter", `No node can have the name ${JSON.stringify(name)}.`);
}

/** Throws what a graph threw at a change: `invalid_parameter` where it is about what was given. */
export function throwRefusal(error: unknown): never {
  throw isRefusal(error) ? new AppError("invalid_parameter", errorMessage(error), { cause: error }) : error;
}

/** What LangGraph and state schemas throw at values, a node or a namespace they do not accept. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (
    ["InvalidUpdateError", "ZodError", "$ZodError"].includes(error.name) ||
    /^Subgraph .* not found/su.test(error.message)
  );
}
