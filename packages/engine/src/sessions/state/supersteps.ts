import type { RunnableConfig } from "@langchain/core/runnables";
import { AppError } from "../../errors/errors.ts";
import type { Graphs } from "../../graphs/load.ts";
import type { ServedGraph } from "../../graphs/served-graph.ts";
import { toCommand } from "../../runs/attempt/execute.ts";
import { readPause } from "../../runs/status.ts";
import type { JsonObject, Session } from "../../storage/records.ts";
import { noSession } from "../scope/access.ts";
import type { FillParts } from "../scope/new-sessions.ts";
import { readInputMessages } from "./run-input.ts";
import { checkpointConfig, graphOf, noGraph, requireNodeName, throwRefusal } from "./state.ts";

/** What several nodes did in one step, as if they had returned it; `command` goes before `values`. */
export interface Superstep {
  updates: { values?: unknown; command?: JsonObject | undefined; as_node: string }[];
}

/** A session that is filled has had none. */
const noRuns = { list: async () => [] };

/**
 * Writes the states of a past that happened elsewhere into a session, step by step; what the last one waits for, the
 * session waits for (`supersteps`). Gives the session as it is then. Throws `invalid_parameter` when the session has no
 * graph, or the graph refuses the values or a node.
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

/** Graphs of the oldest versions change their state once in a step. Throws `invalid_parameter` for a step they cannot do. */
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
