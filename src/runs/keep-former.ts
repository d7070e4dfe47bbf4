import type { Run } from "../storage/records.ts";
import { keepTurn } from "./keep-turn.ts";
import type { Performance } from "./performance.ts";
import { isOver } from "./status.ts";

/**
 * When a new message comes while a question is open, or after a run that broke off, LangGraph drops the unfinished step
 * with all it had done. That turn is kept first, or the model would do again what it does not know of. Throws what the
 * store throws.
 */
export async function keepFormer(
  run: Run,
  { storage, graphs, services }: Pick<Performance, "storage" | "graphs" | "services">,
): Promise<void> {
  const { command, input, checkpoint } = run.kwargs;
  if (command !== undefined || input === undefined || input === null || checkpoint?.["checkpoint_id"] !== undefined)
    return;
  const session = await storage.sessions.get(run.session_id);
  if (session === undefined) return;
  const hasQuestion = Object.keys(session.interrupts).length > 0;
  const newest = await storage.runs.list(run.session_id, { limit: 10, offset: 0 });
  // Behind many that wait, the last one that is over is not seen; then the state is looked at.
  if (!hasQuestion && newest.find(({ status }) => isOver(status))?.status === "success") return;
  const graph = await graphs.ofRun(run, "threads.update");
  const reason = hasQuestion ? "abandoned" : "failed";
  await keepTurn({ graph, run, services: services(run.session_id), reason });
}
