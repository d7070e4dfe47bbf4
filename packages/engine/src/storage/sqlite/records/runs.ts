import { AppError } from "../../../errors/errors.ts";
import type { Run } from "../../records.ts";
import type { Admission, RunStore } from "../../storage.ts";
import { followSession, recordAnswers } from "./approvals.ts";
import { takeTurn } from "./crons.ts";
import type { Database } from "../database/database.ts";
import type { GroupCommit } from "../database/durable.ts";
import {
  claimRun,
  countPending,
  countPendingOfOwner,
  endRun,
  findRun,
  findSubmission,
  hasUnfinished,
  insertRun,
  lastChangeOfRuns,
  listLeftRollbacks,
  listLeftTemporary,
  listRuns,
  listUnfinished,
  markStop,
  markStops,
  noteGraph,
  parkRuns,
  reclaimRun,
  releaseSession,
  removeRun,
  removeRunsOf,
  setSessionStatus,
} from "./run-rows.ts";
import { insertWebhook } from "./webhooks.ts";

/** The run of a submission that came before; throws `conflict` when something else was sent under its key. */
function submittedBefore(database: Database, run: Run, { submission }: Admission): Run | undefined {
  if (submission === undefined) return undefined;
  const known = findSubmission(database, run.session_id, submission.key);
  if (known === undefined) return undefined;
  if (known.request_hash === submission.hash) return findRun(database, known.run_id);
  throw new AppError("conflict", `The Idempotency-Key "${submission.key}" came with another request before.`, {
    suggestion: "Send the same request again, or choose a new key for a new one.",
  });
}

/** Throws where the session's strategy or the length of the queue keeps a run out. */
function checkRoom(database: Database, run: Run, { queueLimit, ownerQueueLimit }: Admission): void {
  if (run.multitask_strategy === "reject" && hasUnfinished(database, run.session_id)) {
    throw new AppError(
      "conflict",
      "Thread is already running a task. Wait for it to finish or choose a different multitask strategy.",
      { recoverable: true },
    );
  }
  if (queueLimit !== undefined && countPending(database, queueLimit) >= queueLimit) {
    throw queueIsFull(`${queueLimit} runs are waiting already; this one was not taken.`);
  }
  if (ownerQueueLimit === undefined) return;
  if (countPendingOfOwner(database, run.session_id, ownerQueueLimit) >= ownerQueueLimit) {
    throw queueIsFull(`${ownerQueueLimit} runs of this owner are waiting already; this one was not taken.`);
  }
}

/** Takes the turn of the cron that the run is for; throws where it has none any more. */
function checkTurn(database: Database, { cron }: Admission): void {
  if (cron === undefined || takeTurn(database, cron)) return;
  throw new AppError("invalid_state", `Cron ${cron.cron_id} is not due at ${cron.due} any more.`);
}

function queueIsFull(message: string): AppError {
  return new AppError("rate_limit", message, {
    suggestion: "Send it again when some of them are done.",
    recoverable: true,
  });
}

/**
 * The runs in SQLite. Admission and outcome share an fsync with whatever else is committed at that moment. A deleted
 * run takes its events with it; its checkpoints are the session's and stay.
 */
export function createRunStore(database: Database, commits: GroupCommit): RunStore {
  return {
    admit: (run, admission = {}) =>
      commits.durably(() => {
        const known = submittedBefore(database, run, admission);
        if (known !== undefined) return known;
        checkRoom(database, run, admission);
        checkTurn(database, admission);
        const { multitask_strategy: strategy } = run;
        // With the admission: after a crash between the two, a restart would go on with both.
        if (strategy === "interrupt" || strategy === "rollback") markStops(database, run.session_id, strategy);
        const pending: Run = { ...recordAnswers(database, run, admission.answer), status: "pending" };
        insertRun(database, pending, admission.submission);
        setSessionStatus(database, run.session_id, "busy");
        noteGraph(database, run);
        return pending;
      }),

    get: async (runId) => database.read(() => findRun(database, runId)),

    list: async (sessionId, query) => database.read(() => listRuns(database, sessionId, query)),

    claim: (sessionId) => commits.transaction(() => claimRun(database, sessionId)),

    reclaim: (runId) => commits.transaction(() => reclaimRun(database, runId)),

    requestStop: (runId, action, reason) => commits.durably(() => markStop(database, runId, action, reason)),

    park: () => commits.durably(() => parkRuns(database)),

    finish: (runId, outcome, attempt) =>
      commits.durably(() => {
        const { ended_at, error = null } = outcome;
        const run = endRun(database, runId, { status: outcome.status, error, attempt, ended_at });
        if (run === undefined) return undefined;
        const status = hasUnfinished(database, run.session_id) ? "busy" : outcome.session_status;
        setSessionStatus(database, run.session_id, status, outcome.interrupts);
        followSession(database, { session_id: run.session_id, interrupts: outcome.interrupts });
        if (outcome.webhook !== undefined) insertWebhook(database, run, outcome.webhook);
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

    deleteOfAssistant: (assistantId) => commits.transaction(() => removeRunsOf(database, assistantId)),

    unfinished: async () => database.read(() => listUnfinished(database)),

    leftTemporary: async (keyedBefore) => database.read(() => listLeftTemporary(database, keyedBefore)),

    leftRollbacks: async () => database.read(() => listLeftRollbacks(database)),

    lastChange: async () => database.read(() => lastChangeOfRuns(database)),
  };
}
