import type { StateSnapshot } from "@langchain/langgraph";
import type { JsonObject } from "../../storage/records.ts";
import type { SessionRuns } from "../scope/session-storage.ts";

/** Puts the metadata of the run that wrote a state beside the state's own. */
export type WithRunMetadata = (state: StateSnapshot) => Promise<StateSnapshot>;

/**
 * The platform copies a run's metadata, and what it ran, into each of its states; here a state names its run, and the
 * rest is read with it, each run once, for the states of subgraphs too. A run that is gone says nothing any more.
 */
export function createRunMetadata(runs: Pick<SessionRuns, "get">): WithRunMetadata {
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
