import type { StateSnapshot } from "@langchain/langgraph";
import type { Graphs } from "../../graphs/load.ts";
import { contains } from "../../storage/items/contains.ts";
import type { JsonObject, Session } from "../../storage/records.ts";
import type { SessionRuns } from "../scope/session-storage.ts";
import { createRunMetadata } from "./run-metadata.ts";
import { checkpointConfig, graphOf, type CheckpointReference } from "./state.ts";

/** Which part of a session's history, newest first. */
export interface HistoryQuery {
  limit: number;
  before?: string | undefined;
  /** Filters the metadata of the states, that of their runs included. */
  metadata?: JsonObject | undefined;
  checkpoint: CheckpointReference;
}

/** What of the metadata stands in the states themselves. */
const ownKeys = new Set(["source", "step", "run_id", "thread_id"]);

/** The states of a session, newest first; none when it has had no graph yet. */
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
    // What is asked of the runs is seen only when their states have been read.
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
