import type { Page, Run } from "../../storage/records.ts";
import { isOver } from "../status.ts";

/** Runs per query after the first one, which reads two. */
const pageSize = 20;

/** The runs of a session, newest first, in pages. */
interface RunList {
  list(sessionId: string, page: Page): Promise<Run[]>;
}

/**
 * The run whose question a session waits for: the newest that has worked and is over. Queued and delayed runs, and runs
 * that were stopped before they began, have asked nothing.
 */
export async function interruptedRun(runs: RunList, sessionId: string): Promise<Run | undefined> {
  return findRun(runs, sessionId, ({ status, attempt }) => isOver(status) && attempt > 0);
}

/** The newest run of a session that works or has worked; before the first has begun, the newest one. */
export async function lastExecutedRun(runs: RunList, sessionId: string): Promise<Run | undefined> {
  const worked = await findRun(runs, sessionId, ({ attempt }) => attempt > 0);
  return worked ?? (await runs.list(sessionId, { limit: 1, offset: 0 }))[0];
}

/** The newest run that has worked in the session of this one, beside it. */
export async function otherExecutedRun(runs: RunList, { session_id, run_id }: Run): Promise<Run | undefined> {
  return findRun(runs, session_id, (other) => other.attempt > 0 && other.run_id !== run_id);
}

async function findRun(runs: RunList, sessionId: string, isWanted: (run: Run) => boolean): Promise<Run | undefined> {
  // Nearly always it is the first one, or the one before a run that begins.
  for (let offset = 0, limit = 2; ; offset += limit, limit = pageSize) {
    const page = await runs.list(sessionId, { limit, offset });
    const found = page.find(isWanted);
    if (found !== undefined || page.length < limit) return found;
  }
}
