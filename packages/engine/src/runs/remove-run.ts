import type { Graphs } from "../graphs/load.ts";
import type { Run } from "../storage/records.ts";
import type { Storage } from "../storage/storage.ts";
import { lastExecutedRun, otherExecutedRun } from "./admission/draft.ts";
import { noPause, outcomeOf, type Pause, readPause, removeProgress } from "./status.ts";
import type { RunnerDeps } from "./options.ts";

/**
 * Removes a run that is over, with its events, messages and checkpoints; when it was the last one, its session then
 * waits for what it waited for before. False when it was gone already. Throws what the storage throws.
 */
export async function removeRun(run: Run, { storage, graphs }: { storage: Storage; graphs: Graphs }): Promise<boolean> {
  const last = await lastExecutedRun(storage.runs, run.session_id);
  await removeProgress(storage.checkpointer, run);
  // What the session has come to is what later runs have left.
  if (last !== undefined && last.run_id !== run.run_id) return await storage.runs.delete(run.run_id);
  const pause = await pauseLeftBy((await otherExecutedRun(storage.runs, run)) ?? run, graphs);
  const { session_status: status, interrupts } = outcomeOf({ kind: "done" }, pause);
  // A session with a run that is not over stays busy, whatever is said here. The row goes last: where the process ends
  // before that, the next start finds it and does all of this again.
  await storage.sessions.update(run.session_id, { interrupts, status });
  return await storage.runs.delete(run.run_id);
}

/** What the newest state of a run's session waits for. A graph that is not served any more cannot be asked. */
async function pauseLeftBy(run: Run, graphs: Graphs): Promise<Pause> {
  if (!graphs.ids().includes(run.graph_id)) return noPause;
  return await readPause(await graphs.ofRun(run, "threads.read"), run.session_id);
}

/**
 * Removes the states of a run that is about to end and to be rolled back: the session's next run may begin at another server
 * as soon as that end is written. A failure is logged: `rollBack` tries again.
 */
export async function removeStates(
  run: Run,
  { storage, logger }: Pick<RunnerDeps, "storage" | "logger">,
): Promise<void> {
  try {
    await removeProgress(storage.checkpointer, run);
  } catch (error) {
    logger.error({ err: error, run_id: run.run_id }, "rollback_failed");
  }
}

/**
 * Removes a run that is over with all it has written, in a turn of its own: a run that another server begins meanwhile may leave
 * questions, which are not to be replaced by those of before. A failure is logged: the next start tries again.
 */
export async function rollBack(run: Run, deps: Pick<RunnerDeps, "storage" | "graphs" | "logger">): Promise<void> {
  const { withLease } = deps.storage.sessions;
  const remove = (): Promise<boolean> => removeRun(run, deps);
  try {
    await (withLease === undefined ? remove() : withLease(run.session_id, remove));
  } catch (error) {
    deps.logger.error({ err: error, run_id: run.run_id }, "rollback_failed");
  }
}
