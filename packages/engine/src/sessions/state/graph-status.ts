import { z } from "zod";
import { isAppError } from "../../errors/errors.ts";
import { graphVersion, missingNodes } from "../../graphs/changed-graph.ts";
import type { Graphs } from "../../graphs/load.ts";
import { lastExecutedRun } from "../../runs/admission/executed-runs.ts";
import type { Session } from "../../storage/records.ts";
import type { OwnerScope } from "../scope/owner-scope.ts";
import { graphOf } from "./state.ts";

/** Whether a session still fits its graph, which may have changed since the session's last run. */
export const GraphStatus = z.object({
  version: z.string().nullable().describe("Hash of the graph's nodes, edges and channels; null when it is not served"),
  last_version: z.string().nullable().describe("The same of the graph with which the last run was admitted"),
  missing_nodes: z.array(z.string()).describe("Nodes that the thread waits at and that the graph no longer has"),
});
export type GraphStatus = z.infer<typeof GraphStatus>;

/** Compares the served graph with the steps the session waits for. */
export async function readGraphStatus(
  { graphs, runs, storage }: { graphs: Graphs } & Pick<OwnerScope, "runs" | "storage">,
  session: Session,
): Promise<GraphStatus> {
  const last = await lastExecutedRun(runs, session.session_id);
  const last_version = last?.kwargs.graph_version ?? null;
  const graph = await graphOf({ graphs, runs }, session, "threads.read").catch((error: unknown) => {
    if (isAppError(error) && error.code === "not_found") return undefined;
    throw error;
  });
  if (graph === undefined) return { version: null, last_version, missing_nodes: [] };
  const mayWait = session.status === "interrupted" || session.status === "error";
  const newest = { configurable: { thread_id: session.session_id, checkpoint_ns: "" } };
  const missing_nodes = mayWait ? await missingNodes(graph, newest, storage.checkpointer) : [];
  return { version: graphVersion(graph), last_version, missing_nodes };
}
