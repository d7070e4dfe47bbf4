import { AppError } from "../errors/errors.ts";
import type { Run } from "../storage/records.ts";
import type { SessionRuns, SessionStorage } from "./scope/session-storage.ts";
import { requireSession } from "./sessions.ts";

/** Which runs are to be stopped at once; see `runsToCancel`. */
export interface ManyRuns {
  session_id: string | undefined;
  run_ids: string[] | undefined;
  status: "pending" | "running" | "all";
}

/**
 * The runs of a session with these ids, or all that are not over, of a session or of all (`cancelMany`). Throws
 * `not_found` for a session, or for a run that is not one of its.
 */
export async function runsToCancel(
  { storage, runs }: { storage: SessionStorage; runs: Pick<SessionRuns, "get" | "unfinished"> },
  { session_id, run_ids, status }: ManyRuns,
): Promise<Run[]> {
  if (session_id !== undefined) await requireSession(storage, session_id);
  const isWanted = (run: Run): boolean => status === "all" || run.status === status;
  if (run_ids === undefined) {
    const unfinished = await runs.unfinished();
    return unfinished.filter((run) => run.session_id === (session_id ?? run.session_id) && isWanted(run));
  }
  const named: Run[] = [];
  for (const id of run_ids) {
    const run = await runs.get(id);
    if (run === undefined || run.session_id !== session_id) throw new AppError("not_found", "Run not found");
    named.push(run);
  }
  return named.filter(isWanted);
}
