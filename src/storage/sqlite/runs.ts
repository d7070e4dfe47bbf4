import { AppError } from "../../errors.ts";
import type { Run } from "../records.ts";
import type { RunStore } from "../storage.ts";
import type { Database } from "./database.ts";
import type { GroupCommit } from "./durable.ts";
import {
  claimRun,
  endRun,
  findRun,
  hasUnfinished,
  insertRun,
  listRuns,
  listUnfinished,
  reclaimRun,
  releaseSession,
  removeRun,
  setSessionStatus,
} from "./run-rows.ts";

/**
 * The runs in SQLite. Admission and outcome share an fsync with whatever else is committed at that moment. A deleted run
 * takes its events with it; its checkpoints are the session's and stay.
 */
export function createRunStore(database: Database, commits: GroupCommit): RunStore {
  return {
    admit: (run) =>
      commits.durably(() => {
        if (run.multitask_strategy === "reject" && hasUnfinished(database, run.session_id)) {
          throw new AppError(
            "conflict",
            "Thread is already running a task. Wait for it to finish or choose a different multitask strategy.",
            { recoverable: true },
          );
        }
        const pending: Run = { ...run, status: "pending" };
        insertRun(database, pending);
        setSessionStatus(database, run.session_id, "busy");
        return pending;
      }),

    get: async (runId) => database.read(() => findRun(database, runId)),

    list: async (sessionId, query) => database.read(() => listRuns(database, sessionId, query)),

    claim: (sessionId) => commits.transaction(() => claimRun(database, sessionId)),

    reclaim: (runId) => commits.transaction(() => reclaimRun(database, runId)),

    finish: (runId, outcome) =>
      commits.durably(() => {
        const run = endRun(database, runId, outcome.status, outcome.error ?? null);
        if (run === undefined) return undefined;
        const status = hasUnfinished(database, run.session_id) ? "busy" : outcome.session_status;
        setSessionStatus(database, run.session_id, status, outcome.interrupts);
        return run;
      }),

    delete: (runId) =>
      commits.transaction(() => {
        const run = findRun(database, runId);
        if (run === undefined) return false;
        removeRun(database, runId);
        if (!hasUnfinished(database, run.session_id)) releaseSession(database, run.session_id);
        return true;
      }),

    unfinished: async () => database.read(() => listUnfinished(database)),
  };
}
