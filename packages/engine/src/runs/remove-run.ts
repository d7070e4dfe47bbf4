import { setTimeout as sleep } from "node:timers/promises";
import type { Graphs } from "../graphs/load.ts";
import { concurrentChange } from "../storage/admission.ts";
import type { Run } from "../storage/records.ts";
import type { Storage } from "../storage/storage.ts";
import { lastExecutedRun, otherExecutedRun } from "./admission/executed-runs.ts";
import { hasProgress, noPause, outcomeOf, type Pause, readPause, removeProgress } from "./status.ts";
import type { RunnerDeps } from "./options.ts";

/** Milliseconds that the removal of states waits for the end of another run, and between two looks. */
const [patience, pause] = [5_000, 50];

/**
 * Removes a run that is over, with its events, messages and checkpoints; when it was the last one, its session then
 * waits for what it waited for before. False when it was gone already. No run of the session may begin meanwhile. Throws what
 * the storage throws, and `conflict` when another run works on for too long.
 */
export async function removeRun(run: Run, { storage, graphs }: { storage: Storage; graphs: Graphs }): Promise<boolean> {
  if (storage.notifications.hasPeers && (await hasProgress(storage.checkpointer, run))) await waitForIdle(run, storage);
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

/**
 * Waits until no run works on the session. A server at work writes states as differences from earlier ones, which it has in
 * memory: it would not know that another server has removed these.
 */
async function waitForIdle({ session_id }: Run, { runs }: Pick<Storage, "runs">): Promise<void> {
  for (let waited = 0; ; waited += pause) {
    const marks = (await runs.marks(session_id)) ?? [];
    if (marks.every(({ status }) => status !== "running")) return;
    if (waited >= patience) throw concurrentChange();
    await sleep(pause);
  }
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
