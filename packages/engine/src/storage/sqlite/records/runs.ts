import { cronNotDue, idempotencyKeyReused, queueFull, threadBusy } from "../../admission.ts";
import type { Run } from "../../records.ts";
import type { Admission, RunStore, Submission } from "../../storage.ts";
import { advanceCron } from "./crons.ts";
import type { Database } from "../database/database.ts";
import type { GroupCommit } from "../database/durable.ts";
import {
  claimRun,
  countPending,
  countPendingOfOwner,
  findRun,
  hasKey,
  findSubmission,
  hasUnfinished,
  insertRun,
  lastChangeOfRuns,
  listLeftRollbacks,
  listLeftTemporary,
  listRuns,
  listUnfinished,
  markRuns,
  markStop,
  markStops,
  recordGraph,
  reclaimRun,
  releaseSession,
  removeRun,
  removeRunsOf,
  setSessionStatus,
} from "./run-statements.ts";
import { recordAnswers } from "./approvals.ts";

/** The run of a submission that came before; throws `conflict` when something else was sent under its key. */
function submittedBefore(database: Database, sessionId: string, submission: Submission): Run | undefined {
  const known = findSubmission(database, sessionId, submission.key);
  if (known === undefined) return undefined;
  if (known.request_hash === submission.hash) return findRun(database, known.run_id);
  throw idempotencyKeyReused(submission.key);
}

/** Throws where the session's strategy or the length of the queue keeps a run out. */
function checkRoom(database: Database, run: Run, { queueLimit, ownerQueueLimit }: Admission): void {
  if (run.multitask_strategy === "reject" && hasUnfinished(database, run.session_id)) {
    throw threadBusy();
  }
  if (queueLimit !== undefined && countPending(database, queueLimit) >= queueLimit) {
    throw queueFull(`${queueLimit} runs`);
  }
  if (ownerQueueLimit === undefined) return;
  if (countPendingOfOwner(database, run.session_id, ownerQueueLimit) >= ownerQueueLimit) {
    throw queueFull(`${ownerQueueLimit} runs of this owner`);
  }
}

/**
 * The runs in SQLite. Admission and outcome share an fsync with whatever else is committed at that moment. A deleted
 * run takes its events with it; its checkpoints are the session's and stay.
 */
export function createRunStore(database: Database, commits: GroupCommit): RunStore {
  return {
    admit: (run, admission = {}) =>
      commits.durably(() => {
        const { submission, cron } = admission;
        const known = submission && submittedBefore(database, run.session_id, submission);
        if (known !== undefined) return { run: known };
        checkRoom(database, run, admission);
        if (cron !== undefined && !advanceCron(database, cron)) throw cronNotDue(cron);
        const { multitask_strategy: strategy } = run;
        // With the admission: after a crash between the two, a restart would go on with both.
        if (strategy === "interrupt" || strategy === "rollback") markStops(database, run.session_id, strategy);
        const pending: Run = { ...recordAnswers(database, run, admission.answer), status: "pending" };
        const now = new Date().toISOString();
        const isDue = run.created_at <= now || run.created_at === run.updated_at;
        const isTaken = admission.hasRoom === true && isDue && !hasUnfinished(database, run.session_id);
        const claimed = insertRun(database, pending, { submission, takenAt: isTaken ? now : undefined });
        setSessionStatus(database, run.session_id, "busy");
        recordGraph(database, run);
        return { run: pending, claimed };
      }),

    submitted: async (sessionId, submission) => database.read(() => submittedBefore(database, sessionId, submission)),

    hasKey: async (runId) => database.read(() => hasKey(database, runId)),

    get: async (runId) => database.read(() => findRun(database, runId)),

    list: async (sessionId, query) => database.read(() => listRuns(database, sessionId, query)),

    marks: async (sessionId) => database.read(() => markRuns(database, sessionId)),

    claim: (sessionId) => commits.transaction(() => claimRun(database, sessionId)),

    reclaim: (runId) => commits.transaction(() => reclaimRun(database, runId)),

    requestStop: (...asked) => commits.durably(() => markStop(database, ...asked)),

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

    // Where no other server can work, all is in this one's hand.
    acquire: async () => database.read(() => listUnfinished(database)),

    held: async () => database.read(() => listUnfinished(database).map(({ run_id }) => run_id)),

    releasePending: async () => undefined,

    leftTemporary: async (keyedBefore) => database.read(() => listLeftTemporary(database, keyedBefore)),

    leftRollbacks: async () => database.read(() => listLeftRollbacks(database)),

    lastChange: async () => database.read(() => lastChangeOfRuns(database)),
  };
}
