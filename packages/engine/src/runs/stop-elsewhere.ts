import { waitForEnd, type RunSources } from "./follow/follow.ts";

/** More runs than a session has that are not over. */
const many = 10_000;

/**
 * Has other servers stop their runs of a session, and resolves when the ends are written. Each server sees what is asked with
 * its next beat.
 */
export async function endElsewhere(sessionId: string, sources: RunSources): Promise<void> {
  const { storage, active, drained } = sources;
  if (storage.cluster.live === 1) return;
  const list = (status: "running" | "pending") => storage.runs.list(sessionId, { status, limit: many, offset: 0 });
  const runs = [...(await list("running")), ...(await list("pending"))].filter(({ run_id }) => !active.has(run_id));
  await Promise.all(
    runs.map(async ({ run_id }) => {
      await storage.runs.requestStop(run_id, "interrupt");
      await waitForEnd(sources, run_id, drained);
    }),
  );
}
