import { isAppError } from "../errors/errors.ts";
import type { Run } from "../storage/records.ts";
import type { Storage } from "../storage/storage.ts";
import { comesBefore } from "./status.ts";
import { waitForEnd, type RunSources } from "./follow/follow.ts";

/** The key of a run's metadata, and its session's, with the session that has begun it for its own work: it is stopped with that one. */
export const sentBy = "background_of";

/** More runs than a session has that are not over, and more sessions than one has sent. */
const many = 10_000;

/** The runs of a session that are not over and in no hand here. */
async function openElsewhere(
  sessionId: string,
  { storage, active }: Pick<RunSources, "storage" | "active">,
): Promise<Run[]> {
  const list = (status: "running" | "pending") => storage.runs.list(sessionId, { status, limit: many, offset: 0 });
  return [...(await list("running")), ...(await list("pending"))].filter(({ run_id }) => !active.has(run_id));
}

/** Milliseconds that the end of a run that has not begun is waited for where the caller did not ask to wait. */
const briefly = 2_000;

/**
 * The row of a run that another server was asked to stop, when it has ended; as it was, where it was removed with its end, or
 * where it is waited for only `briefly`, since a run that has not begun ends at once, and its server may have gone.
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

/** Has other servers stop runs of theirs, and resolves when the ends are written. */
async function endAll(runs: readonly Run[], sources: RunSources): Promise<void> {
  await Promise.all(
    runs.map(async (run) => {
      await sources.storage.runs.requestStop(run.run_id, "interrupt");
      // One that is rolled back is gone with its end.
      await waitForStop(run, sources, "to its end");
    }),
  );
}

/** Has other servers stop their runs of a session, and resolves when the ends are written. */
export async function endElsewhere(sessionId: string, sources: RunSources): Promise<void> {
  if (sources.storage.cluster.serverCount > 1) await endAll(await openElsewhere(sessionId, sources), sources);
}

/**
 * Has other servers stop the runs that wait behind `run`, so that none of them begins when that ends. Resolves when it is on
 * disk; gives what waits for their ends, which come at once.
 */
export async function stopBehindElsewhere(run: Run, sources: RunSources): Promise<() => Promise<unknown>> {
  if (sources.storage.cluster.serverCount === 1) return () => Promise.resolve();
  const open = await openElsewhere(run.session_id, sources);
  const behind = open.filter((other) => other.status === "pending" && comesBefore(run, other));
  await Promise.all(behind.map(({ run_id }) => sources.storage.runs.requestStop(run_id, "interrupt")));
  return () => Promise.all(behind.map((other) => waitForStop(other, sources, "briefly")));
}

/** Has other servers stop their runs of an assistant, and resolves when the ends are written. */
export async function endOfAssistantElsewhere(assistantId: string, sources: RunSources): Promise<void> {
  const { storage, active } = sources;
  if (storage.cluster.serverCount === 1) return;
  const open = await storage.runs.unfinished();
  await endAll(
    open.filter(({ run_id, assistant_id }) => assistant_id === assistantId && !active.has(run_id)),
    sources,
  );
}

/** Has other servers stop the agents that a session has sent to the background; resolves when that is on disk. */
export async function stopSentElsewhere(
  sessionId: string,
  parts: { storage: Storage; active: RunSources["active"] },
): Promise<void> {
  const { sessions, runs, cluster } = parts.storage;
  if (cluster.serverCount === 1) return;
  const sent = await sessions.search({ metadata: { [sentBy]: sessionId }, status: "busy", limit: many, offset: 0 });
  const open = await Promise.all(sent.sessions.map(({ session_id }) => openElsewhere(session_id, parts)));
  await Promise.all(open.flat().map(({ run_id }) => runs.requestStop(run_id, "interrupt")));
}
