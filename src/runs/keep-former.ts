import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { Run } from "@millrace/engine/storage/records";
import { askingRun } from "./asking-run.ts";
import type { Performance } from "./performance.ts";

/**
 * When a new message comes while a question is open, or after a run that broke off, LangGraph drops the unfinished step
 * with all it had done. That turn is kept first, by way of `saver`, or the model would do again what it does not know
 * of. Throws what the store throws.
 */
export async function keepFormer(
  run: Run,
  saver: BaseCheckpointSaver,
  { storage, graphs, extension }: Pick<Performance, "storage" | "graphs" | "extension">,
): Promise<void> {
  if (extension === undefined) return;
  const { command, input, checkpoint } = run.kwargs;
  if (command !== undefined || input === undefined || input === null || checkpoint?.["checkpoint_id"] !== undefined)
    return;
  const session = await storage.sessions.get(run.session_id);
  if (session === undefined) return;
  const hasQuestion = Object.keys(session.interrupts).length > 0;
  if (!hasQuestion && (await askingRun(storage.runs, run.session_id))?.status === "success") return;
  const graph = await graphs.ofRun(run, "threads.update");
  const reason = hasQuestion ? "abandoned" : "failed";
  await extension.keepFormer({ graph, run, reason, saver });
}
