import { AppError } from "@millrace/engine/errors/errors";
import type { Dispatch } from "./dispatch.ts";
import type { Performance } from "./performance.ts";

/**
 * Parks the runs that walk before their next step; what is still in a step after `graceMs` is aborted. Neither ends a
 * run: its row stays `running` and the next start goes on with it, which counts as no crash.
 */
export async function drainRuns(dispatch: Dispatch, graceMs: number, performance: Performance): Promise<void> {
  const ended = dispatch.close();
  const reason = new AppError("server", "The server is stopping; the run goes on after its restart.");
  for (const active of dispatch.active.values()) {
    if (active.walking) active.stop.control.requestDrain();
    else active.abandon(reason);
  }
  // Now, in case the stop is cut short, and again at the end for what was claimed at this moment.
  await park(performance);
  const grace = setTimeout(() => {
    for (const active of dispatch.active.values()) if (active.walking) active.stop.request("app_shutdown");
  }, graceMs);
  await ended;
  clearTimeout(grace);
  await park(performance);
}

async function park({ storage, logger }: Performance): Promise<void> {
  try {
    await storage.runs.park();
  } catch (error) {
    // The next start then takes the runs for crashed ones, of which they may have some.
    logger.error({ err: error }, "runs_not_parked");
  }
}
