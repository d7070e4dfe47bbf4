import { askingRun } from "../../runs/admission/asking-run.ts";
import { readNewest } from "../../runs/follow/newest-state.ts";
import type { Session } from "../../storage/records.ts";
import type { Graphs } from "../../graphs/load.ts";
import type { HttpServices } from "../environment.ts";
import { toThread } from "./thread.ts";

/** The wire's Thread of a session, with all that is read for it: its newest values, when they were written, its error. */
export async function shownThread(
  { storage, runs, graphs }: Pick<HttpServices, "storage" | "runs" | "graphs">,
  session: Session,
) {
  const newest = await readNewest(storage, session.session_id);
  const values = await withCallsOf(session, newest?.values, graphs);
  const failed = session.status === "error" ? await askingRun(runs, session.session_id) : undefined;
  return {
    ...toThread(session, values),
    ...(newest && { state_updated_at: newest.written_at }),
    ...(failed?.error && { error: { error: failed.error.error, message: failed.error.message } }),
  };
}

/** The values of a session with the calls about which it asks a person. */
export async function withCallsOf<Values>(
  { session_id, metadata, interrupts }: Session,
  values: Values,
  graphs: Graphs,
): Promise<Values> {
  const graphId = metadata["graph_id"];
  const isServed = typeof graphId === "string" && graphs.ids().includes(graphId);
  const graph = isServed ? graphs.fixed(graphId) : undefined;
  return graph === undefined ? values : await graphs.shownValues(values, interrupts, { graph, sessionId: session_id });
}
