import { isAppError } from "../errors/errors.ts";
import type { Run } from "../storage/records.ts";
import type { Storage } from "../storage/storage.ts";
import { comesBefore } from "./status.ts";
import { waitForEnd, type RunSources } from "./follow/follow.ts";

/** The metadata key of a background run and its session: the id of the parent session, with which it is stopped. */
export const parentSessionKey = "background_of";

/** An upper limit for the open runs and the background sessions of a session. */
const many = 10_000;

/** The open runs of a session that other servers own. */
async function openElsewhere(
  sessionId: string,
  { storage, active }: Pick<RunSources, "storage" | "active">,
): Promise<Run[]> {
  const list = (status: "running" | "pending") => storage.runs.list(sessionId, { status, limit: many, offset: 0 });
  return [...(await list("running")), ...(await list("pending"))].filter(({ run_id }) => !active.has(run_id));
}

/** Milliseconds to wait for the end of a queued run when the caller does not wait. */
const briefly = 2_000;

/**
 * The row of a run that another server was asked to stop, once it has ended. The row as it was, when the run was removed or
 * has not ended in time: `briefly` is for queued runs, which end at once unless their server is gone.
 */
export async function waitForStop(run: Run, sources: RunSources, how: "to its end" | "briefly"): Promise<Run> {
  const enough = how === "briefly" ? AbortSignal.timeout(briefly) : undefined;
  const signal = enough === undefined ? sources.drained : AbortSignal.any([sources.drained, enough]);
  try {
    return await waitForEnd(sources, run.run_id, signal);
  } catch (error) {
    if (enough?.aborted === true || (isAppError(error) && error.code === "not_found")) return run;
    throw error;
  }
}

/** Stops runs of other servers; resolves when they have ended. */
async function endAll(runs: readonly Run[], sources: RunSources): Promise<void> {
  await Promise.all(
    runs.map(async (run) => {
      await sources.storage.runs.requestStop(run.run_id, "interrupt");
      // One that is rolled back is gone with its end.
      await waitForStop(run, sources, "to its end");
    }),
  );
}

/** Stops the runs of a session at other servers; resolves when they have ended. */
export async function stopRemoteRuns(sessionId: string, sources: RunSources): Promise<void> {
  const { cluster, notifications } = sources.storage;
  if (cluster.serverCount === 1) return;
  notifications.send("all", { type: "removed", session_id: sessionId });
  await endAll(await openElsewhere(sessionId, sources), sources);
}

/**
 * Stops the runs in the queue behind `run` at other servers, so that none of them starts when it ends. Resolves when the
 * requests are on disk; returns a function that waits for the ends.
 */
export async function stopRemoteQueuedRuns(run: Run, sources: RunSources): Promise<() => Promise<unknown>> {
  if (sources.storage.cluster.serverCount === 1) return () => Promise.resolve();
  const open = await openElsewhere(run.session_id, sources);
  const behind = open.filter((other) => other.status === "pending" && comesBefore(run, other));
  await Promise.all(behind.map(({ run_id }) => sources.storage.runs.requestStop(run_id, "interrupt")));
  return () => Promise.all(behind.map((other) => waitForStop(other, sources, "briefly")));
}

/** Stops the runs of an assistant at other servers; resolves when they have ended. */
export async function stopRemoteRunsOfAssistant(assistantId: string, sources: RunSources): Promise<void> {
  const { storage, active } = sources;
  if (storage.cluster.serverCount === 1) return;
  const open = await storage.runs.unfinished();
  await endAll(
    open.filter(({ run_id, assistant_id }) => assistant_id === assistantId && !active.has(run_id)),
    sources,
  );
}

/** Stops the background runs of a session at other servers; resolves when the requests are on disk. */
export async function stopRemoteBackgroundRuns(
  sessionId: string,
  parts: { storage: Storage; active: RunSources["active"] },
): Promise<void> {
  const { sessions, runs, cluster } = parts.storage;
  if (cluster.serverCount === 1) return;
  const sent = await sessions.search({
    metadata: { [parentSessionKey]: sessionId },
    status: "busy",
    limit: many,
    offset: 0,
  });
  const open = await Promise.all(sent.sessions.map(({ session_id }) => openElsewhere(session_id, parts)));
  await Promise.all(open.flat().map(({ run_id }) => runs.requestStop(run_id, "interrupt")));
}
