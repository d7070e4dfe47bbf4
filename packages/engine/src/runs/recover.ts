import type { Run } from "../storage/records.ts";
import type { Storage } from "../storage/storage.ts";
import type { Dispatch } from "./dispatch.ts";
import { goOnFrom } from "./events/log.ts";
import type { RunnerDeps } from "./options.ts";
import { rollBack } from "./remove-run.ts";
import { isSuspect } from "./status.ts";
import { keptForRepeats, removeLater } from "./temporary-sessions.ts";

/**
 * Takes up everything a former process has left: running runs go on from their checkpoint, pending ones queue, and what
 * was asked to stop is ended without being executed again. Resolves before they are over; throws what the store throws.
 */
export async function recoverRuns(dispatch: Dispatch, deps: RunnerDeps): Promise<{ resumed: number }> {
  await goOnWithClock(deps.storage);
  await deps.storage.sessions.deleteUnfinished();
  await removeLeftovers(dispatch, deps);
  const { runs, cluster } = deps.storage;
  // Others take as many as they have room for.
  const taken = await runs.take(cluster.live > 1 ? dispatch.room : undefined);
  return takeUp(taken, dispatch, deps);
}

/** Takes up runs that are in this server's hand from now on, oldest first. */
export function takeUp(taken: readonly Run[], dispatch: Dispatch, deps: RunnerDeps): { resumed: number } {
  for (const run of taken) dispatch.admit(dispatch.track(run));
  for (const run of taken) stopAgain(run, dispatch, deps);
  const waiting = holdUnserved(taken, dispatch, deps);
  const suspects = taken.filter((run) => isSuspect(run, deps.crashBudget) && !waiting.has(run.session_id));
  const held = new Set(suspects.map((run) => run.session_id));
  for (const run of taken) if (!held.has(run.session_id)) dispatch.schedule(run);
  void tryAlone(suspects, taken, dispatch);
  const resumed = taken.filter(
    (run) => run.status === "running" && run.stop_requested === null && !waiting.has(run.session_id),
  );
  return { resumed: resumed.length };
}

/**
 * Leaves the runs of graphs that are not served as they are: a graph that does not load is mended and started again, and
 * they go on then. Returns their sessions, in which what came later waits for them.
 */
function holdUnserved(unfinished: readonly Run[], dispatch: Dispatch, { graphs, logger }: RunnerDeps): Set<string> {
  const served = new Set(graphs.ids());
  const unserved = unfinished.filter((run) => !served.has(run.graph_id) && run.stop_requested === null);
  for (const [graph_id, runs] of Map.groupBy(unserved, (run) => run.graph_id)) {
    const problem = graphs.problems.find((one) => one.graph_id === graph_id)?.message;
    logger.warn({ graph_id, problem, run_ids: runs.map(({ run_id }) => run_id) }, "runs_wait_for_graph");
  }
  const sessions = new Set(unserved.map(({ session_id }) => session_id));
  for (const sessionId of sessions) dispatch.hold(sessionId);
  return sessions;
}

/**
 * Lets the clock of events go on from the newest time of an event: a returning reader would miss what came
 * before it, where the machine's clock was set back in between.
 */
async function goOnWithClock({ runs, events }: Pick<Storage, "runs" | "events">): Promise<void> {
  const change = await runs.lastChange();
  if (change !== undefined) goOnFrom(Date.parse(change));
  for (const { run_id, status } of await runs.unfinished()) {
    if (status !== "running") continue;
    const last = await events.last(run_id);
    const [event] = await events.read(run_id, last - 1, 1);
    if (event?.at !== undefined) goOnFrom(event.at);
  }
}

/** What was left because a process ended in between: sessions for one run only, and rolled back runs. */
export async function removeLeftovers(dispatch: Dispatch, deps: RunnerDeps): Promise<void> {
  const { storage } = deps;
  const now = Date.now();
  if (storage.cluster.live === 1) {
    const due = await storage.runs.leftTemporary(new Date(now - keptForRepeats).toISOString());
    for (const sessionId of due) await storage.sessions.delete(sessionId);
  }
  // A client that lost its answer in the stop asks again under its key: the run must not happen twice. And what another
  // server has made for one run may not have been read.
  const all = await storage.runs.leftTemporary(new Date(now + keptForRepeats).toISOString());
  for (const sessionId of all) removeLater(sessionId, dispatch, deps);
  for (const run of await storage.runs.leftRollbacks()) await rollBack(run, deps);
}

/** Stops a run that a former process was asked to stop: a run that had begun ends when it is taken up, others here. */
function stopAgain(run: Run, dispatch: Dispatch, { logger }: RunnerDeps): void {
  const active = dispatch.active.get(run.run_id);
  if (run.stop_requested === null || active === undefined) return;
  active.rollback = run.stop_requested === "rollback";
  active.stop.request("user_requested");
  if (run.status === "running") return;
  // In the background: a store that refuses must not keep the server from starting.
  dispatch.endWaiting(active).catch((error: unknown) => {
    logger.error({ err: error, run_id: run.run_id }, "stopped_run_not_ended");
  });
}

/** Takes up one run after the other, each with what waits behind it. Never rejects. */
async function tryAlone(suspects: readonly Run[], unfinished: readonly Run[], dispatch: Dispatch): Promise<void> {
  for (const { run_id, session_id } of suspects) {
    for (const run of unfinished) if (run.session_id === session_id) dispatch.schedule(run);
    // A run that the server lets go of has no end; the next start takes it up.
    await dispatch.active.get(run_id)?.over.catch(() => undefined);
  }
}
