import { clusterTime } from "../concurrency/cluster-time.ts";
import { AppError } from "../errors/errors.ts";
import type { Run } from "../storage/records.ts";
import type { Storage } from "../storage/storage.ts";
import type { Dispatch } from "./dispatch.ts";
import { advanceClock } from "./events/log.ts";
import type { RunnerDeps } from "./options.ts";
import { rollBack } from "./remove-run.ts";
import { isOver, isSuspect } from "./status.ts";
import { resultRetention, removeAfterRetention } from "./temporary-sessions.ts";

/**
 * Recovers the runs of a former process: running ones resume from their checkpoint, pending ones are queued, and those with a
 * stop request are ended without another execution. Resolves before they are over; throws what the store throws.
 */
export async function recoverRuns(dispatch: Dispatch, deps: RunnerDeps): Promise<{ resumed: number }> {
  const unfinished = await advanceEventClock(deps.storage);
  await deps.storage.sessions.deleteUnfinished();
  await removeLeftovers(dispatch, deps);
  const { runs, cluster } = deps.storage;
  // Others take as many as they have room for.
  const taken = await runs.acquire({ sessions: cluster.serverCount > 1 ? dispatch.room : undefined });
  const left = new Set(taken.map(({ run_id }) => run_id));
  await reportUnserved(
    unfinished.filter(({ run_id }) => !left.has(run_id)),
    deps,
  );
  return adoptRuns(taken, dispatch, deps);
}

/** Adopts runs that this server owns from now on, oldest first. */
export function adoptRuns(taken: readonly Run[], dispatch: Dispatch, deps: RunnerDeps): { resumed: number } {
  for (const run of taken) dispatch.admit(dispatch.track(run));
  for (const run of taken) stopAgain(run, dispatch, deps);
  const waiting = holdUnserved(taken, dispatch, deps);
  const suspects = taken.filter((run) => isSuspect(run, deps.crashBudget) && !waiting.has(run.session_id));
  const held = new Set(suspects.map((run) => run.session_id));
  for (const run of taken) if (!held.has(run.session_id)) dispatch.schedule(run);
  // Also after those of an earlier take-over.
  if (suspects.length > 0) dispatch.suspects = dispatch.suspects.then(() => retrySuspects(suspects, taken, dispatch));
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
    logger.warn(waiting(graph_id, runs, graphs), "runs_wait_for_graph");
  }
  const sessions = new Set(unserved.map(({ session_id }) => session_id));
  for (const sessionId of sessions) dispatch.holdSession(sessionId);
  return sessions;
}

function waiting(graph_id: string, runs: readonly Run[], graphs: RunnerDeps["graphs"]): object {
  const problem = graphs.problems.find((one) => one.graph_id === graph_id)?.message;
  return { graph_id, problem, run_ids: runs.map(({ run_id }) => run_id) };
}

/** Logs which runs are left where they are because no server that works serves their graph, or has mounted their folder. */
async function reportUnserved(left: readonly Run[], { graphs, storage, logger }: RunnerDeps): Promise<void> {
  const served = new Set(graphs.ids());
  const unserved = left.filter((run) => !served.has(run.graph_id) && run.stop_requested === null);
  for (const [graph_id, runs] of Map.groupBy(unserved, (run) => run.graph_id)) {
    if (!(await storage.cluster.isServed(graph_id)))
      logger.warn(waiting(graph_id, runs, graphs), "runs_wait_for_graph");
  }
  const others = left.filter((run) => !unserved.includes(run)).map(({ run_id }) => run_id);
  const unmounted = others.length === 0 ? [] : [...(await storage.cluster.unmountedWorkspaces(others))];
  for (const [workspace, runs] of Map.groupBy(unmounted, ([, id]) => id)) {
    logger.warn({ workspace, run_ids: runs.map(([run_id]) => run_id) }, "runs_wait_for_workspace");
  }
}

/** Why a run does not begin or go on, in English and in Chinese, as answers have it. */
export interface WaitReason {
  wait_reason: string;
  wait_reason_zh: string;
}

/**
 * Why a run does not begin or go on; `undefined` where nothing stands in its way but others before it. Asks the store only
 * of a graph that is not served here, and of a run that is not in hand here.
 */
export async function waitReason(
  run: Run,
  { graphs, storage }: Pick<RunnerDeps, "graphs" | "storage">,
  isTracked: boolean,
): Promise<WaitReason | undefined> {
  const { graph_id, run_id } = run;
  if (isOver(run.status) || run.stop_requested !== null) return undefined;
  if (!graphs.ids().includes(graph_id) && !(await storage.cluster.isServed(graph_id))) {
    return {
      wait_reason: `No server that works serves the graph "${graph_id}"; it goes on when one does.`,
      wait_reason_zh: `目前没有正在工作的服务器提供图“${graph_id}”；一旦有服务器提供，运行就会继续。`,
    };
  }
  const workspace = isTracked ? undefined : (await storage.cluster.unmountedWorkspaces([run_id])).get(run_id);
  if (workspace === undefined) return undefined;
  return {
    wait_reason: `No server that works has the workspace of this run (${workspace}); it goes on when one has it.`,
    wait_reason_zh: `目前没有正在工作的服务器挂载此运行的工作区（${workspace}）；一旦有服务器挂载，运行就会继续。`,
  };
}

/**
 * Lets the clock of events go on from the newest time of an event: a returning reader would miss what came
 * before it, where the machine's clock was set back in between. Returns what is not over.
 */
async function advanceEventClock({ runs, events }: Pick<Storage, "runs" | "events">): Promise<Run[]> {
  const change = await runs.lastChange();
  if (change !== undefined) advanceClock(Date.parse(change));
  const unfinished = await runs.unfinished();
  for (const { run_id, status } of unfinished) {
    if (status !== "running") continue;
    const last = await events.last(run_id);
    const [event] = await events.read(run_id, last - 1, 1);
    if (event?.at !== undefined) advanceClock(event.at);
  }
  return unfinished;
}

/** What was left because a process ended in between: sessions for one run only, and rolled back runs. */
export async function removeLeftovers(dispatch: Dispatch, deps: RunnerDeps): Promise<void> {
  const { storage } = deps;
  const now = clusterTime();
  if (storage.cluster.serverCount === 1) {
    const due = await storage.runs.leftTemporary(new Date(now - resultRetention).toISOString());
    // One that has just ended here may have readers.
    const unread = due.filter((sessionId) => dispatch.ofSession(sessionId).length === 0);
    for (const sessionId of unread) await storage.sessions.delete(sessionId);
  }
  // A client that lost its answer in the stop asks again under its key: the run must not happen twice. And what another
  // server has made for one run may not have been read.
  const all = await storage.runs.leftTemporary(new Date(now + resultRetention).toISOString());
  for (const sessionId of all) removeAfterRetention(sessionId, dispatch, deps);
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
async function retrySuspects(suspects: readonly Run[], unfinished: readonly Run[], dispatch: Dispatch): Promise<void> {
  for (const { run_id, session_id } of suspects) {
    for (const run of unfinished) if (run.session_id === session_id) dispatch.schedule(run);
    // A run that the server lets go of has no end; the next start takes it up.
    await dispatch.active.get(run_id)?.over.catch(() => undefined);
  }
}

/**
 * Parks running graphs before their next step; a step that takes longer than `graceMs` is aborted. Neither ends a
 * run: its row stays `running`, and another server or the next start goes on with it, which counts as no crash.
 */
export async function drainRuns(dispatch: Dispatch, graceMs: number, deps: RunnerDeps): Promise<void> {
  const ended = dispatch.close();
  const reason = new AppError("server", "The server is stopping; the run goes on after its restart.");
  for (const active of dispatch.active.values()) {
    if (active.isExecuting) active.stop.control.requestDrain();
    else active.abandon(reason);
  }
  // Before they have stopped, in case the server's stop is cut short.
  await release(dispatch, deps);
  const grace = setTimeout(() => {
    for (const active of dispatch.active.values()) if (active.isExecuting) active.stop.request("app_shutdown");
  }, graceMs);
  await ended;
  clearTimeout(grace);
}

async function release(dispatch: Dispatch, { logger, storage }: RunnerDeps): Promise<void> {
  const executing = [...dispatch.active.values()].filter((active) => active.isExecuting);
  try {
    await Promise.all([...executing.map(({ store }) => store.park()), storage.runs.releasePending()]);
  } catch (error) {
    // The next start then takes the runs for crashed ones, of which they may have some.
    logger.error({ err: error }, "runs_not_released");
  }
}
