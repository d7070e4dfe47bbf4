import { AppError } from "../errors/errors.ts";
import type { CronTurn } from "./record-stores.ts";
import type { Run } from "./records.ts";

// Why an admission is refused: the same words whatever keeps the runs.

/** Another request came under the same key before. */
export function otherRequest(key: string | undefined): AppError {
  return new AppError("conflict", `The Idempotency-Key "${key}" came with another request before.`, {
    suggestion: "Send the same request again, or choose a new key for a new one.",
  });
}

/** The run's strategy is `reject`, and its session has one that is not over. */
export function threadIsBusy(): AppError {
  return new AppError(
    "conflict",
    "Thread is already running a task. Wait for it to finish or choose a different multitask strategy.",
    { recoverable: true },
  );
}

/** Another server changes the session by hand, and has not ended in time. */
export function isChanged(): AppError {
  return new AppError("conflict", "Another change of the same thread has not ended in time.", {
    suggestion: "Nothing was changed; send the request again.",
    recoverable: true,
  });
}

/** `waiting`: how many runs, and whose, may be pending at most. */
export function queueIsFull(waiting: string): AppError {
  return new AppError("rate_limit", `${waiting} are waiting already; this one was not taken.`, {
    suggestion: "Send it again when some of them are done.",
    recoverable: true,
  });
}

/** The run's id is another one's. */
export function alreadyExists({ run_id }: Pick<Run, "run_id">): AppError {
  return new AppError("conflict", `A run "${run_id}" already exists.`);
}

/** The cron whose turn the run is has moved on. */
export function notDue(turn: CronTurn | undefined): AppError {
  return new AppError("invalid_state", `Cron ${turn?.cron_id} is not due at ${turn?.due} any more.`);
}
