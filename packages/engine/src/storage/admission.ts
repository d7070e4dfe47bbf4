import { AppError } from "../errors/errors.ts";
import type { CronOccurrence } from "./record-stores.ts";
import type { Run } from "./records.ts";

// The errors of a refused admission, the same for every database.

/** Another request has used the same idempotency key. */
export function idempotencyKeyReused(key: string | undefined): AppError {
  return new AppError("conflict", `The Idempotency-Key "${key}" came with another request before.`, {
    suggestion: "Send the same request again, or choose a new key for a new one.",
  });
}

/** The run's strategy is `reject`, and its session has an open run. */
export function threadBusy(): AppError {
  return new AppError(
    "conflict",
    "Thread is already running a task. Wait for it to finish or choose a different multitask strategy.",
    { recoverable: true },
  );
}

/** A manual change of the session at another server has not ended in time. */
export function concurrentChange(): AppError {
  return new AppError("conflict", "Another change of the same thread has not ended in time.", {
    suggestion: "Nothing was changed; send the request again.",
    recoverable: true,
  });
}

/** `waiting`: a text that names the limit. */
export function queueFull(waiting: string): AppError {
  return new AppError("rate_limit", `${waiting} are waiting already; this one was not taken.`, {
    suggestion: "Send it again when some of them are done.",
    recoverable: true,
  });
}

/** Another run has the same id. */
export function runExists({ run_id }: Pick<Run, "run_id">): AppError {
  return new AppError("conflict", `A run "${run_id}" already exists.`);
}

/** The cron has already moved past the occurrence that the run belongs to. */
export function cronNotDue(turn: CronOccurrence | undefined): AppError {
  return new AppError("invalid_state", `Cron ${turn?.cron_id} is not due at ${turn?.due} any more.`);
}
