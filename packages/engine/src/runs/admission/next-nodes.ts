import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { AppError } from "../../errors/errors.ts";
import { graphChanged, missingNodes } from "../../graphs/changed-graph.ts";
import type { ServedGraph } from "../../graphs/served-graph.ts";
import type { Run } from "../../storage/records.ts";

/**
 * Makes sure that a graph has every node with which a run would go on from `origin`. Throws `invalid_state` and leaves
 * what waits there as it is: LangGraph would pass over the steps, and over an answer with them.
 */
export async function requireNextNodes(
  { graph_id: graphId, session_id: threadId }: Pick<Run, "graph_id" | "session_id">,
  graph: ServedGraph | undefined,
  origin: RunnableConfig,
  checkpointer: BaseCheckpointSaver,
): Promise<void> {
  if (graph === undefined) return;
  const missing = await missingNodes(graph, origin, checkpointer);
  if (missing.length > 0) throw await graphChanged(missing, graph, { graphId, threadId }, checkpointer);
}

/** The checkpoint with this id. Throws `not_found`. */
export async function requireCheckpoint(
  place: { thread_id: string; checkpoint_ns: string; checkpoint_id: string },
  checkpointer: Pick<BaseCheckpointSaver, "getTuple">,
): Promise<CheckpointTuple> {
  const { checkpoint_id } = place;
  const tuple = await checkpointer.getTuple({ configurable: place });
  if (tuple !== undefined) return tuple;
  throw new AppError("not_found", `Checkpoint ${checkpoint_id} not found`, {
    suggestion: "GET /threads/{thread_id}/history lists the checkpoints of the thread.",
  });
}
