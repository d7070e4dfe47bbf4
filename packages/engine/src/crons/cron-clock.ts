import { errorMessage, isAppError, type AppError, type ErrorCode } from "../errors/errors.ts";
import type { Logger } from "../logger.ts";
import { Alarm } from "../runs/events/alarm.ts";
import type { Cron } from "../storage/crons.ts";
import type { Storage } from "../storage/storage.ts";
import { nextDate } from "./schedule.ts";
import { startCronRun, type CronRunParts } from "./start-cron-run.ts";

/** Milliseconds until a run is tried again that the server could not take. */
const retryDelay = 5_000;

/** Refusals that pass: the run is still due. */
const passing: readonly ErrorCode[] = [
  "rate_limit",
  "server",
  "storage_full",
  "storage_readonly",
  "storage_io",
  "storage_corrupt",
];

/** What starts the runs of crons when they are due. */
export interface CronClock {
  /** Starts no more runs; resolves when the one that is being started is. */
  stop(): Promise<void>;
}

interface ClockParts extends CronRunParts {
  storage: Pick<Storage, "crons" | "sessions" | "runs">;
  logger: Logger;
}

function isPassing(error: unknown): boolean {
  return isAppError(error) && passing.includes(error.code);
}

/**
 * Starts each run of a cron at its time, from now on, by one timer to the next one; what was due while nobody was here
 * is started at once, as one run of each cron. A run that is refused for good is passed over, and the log says so.
 */
export function startCronClock(parts: ClockParts): CronClock {
  const { storage, logger } = parts;
  const { crons } = storage;

  /** Whether the cron has had its turn. Never throws. */
  async function takeTurn(cron: Cron & { next_run_date: string }): Promise<boolean> {
    const { cron_id, next_run_date: due } = cron;
    try {
      const { run, missed } = await startCronRun(cron, parts);
      if (missed > 0) logger.warn({ cron_id, due, missed, run_id: run.run_id }, "cron_dates_missed");
      return true;
    } catch (error) {
      // Somebody has changed or deleted it, or has started the run.
      if (isAppError(error) && error.code === "invalid_state") return true;
      logger.warn({ cron_id, due, ...about(error) }, isPassing(error) ? "cron_waits" : "cron_date_passed_over");
      if (isPassing(error)) return false;
      await crons.skip({ cron_id, due, next: dateAfterNow(cron) });
      return true;
    }
  }

  async function startDue(): Promise<number | undefined> {
    try {
      let isDone = true;
      for (const cron of await crons.due(new Date().toISOString())) {
        const { next_run_date } = cron;
        if (next_run_date !== null) isDone = (await takeTurn({ ...cron, next_run_date })) && isDone;
      }
      if (!isDone) return Date.now() + retryDelay;
      const next = await crons.next();
      return next === undefined ? undefined : Date.parse(next);
    } catch (error) {
      logger.error({ err: error }, "crons_not_started");
      return Date.now() + retryDelay;
    }
  }

  const alarm = new Alarm(startDue);
  crons.onDate((date) => alarm.bring(Date.parse(date)));
  alarm.bring(Date.now());
  return alarm;
}

/** The next date of a cron; `null` for one whose times can no longer be read, so that it keeps no other from its turn. */
function dateAfterNow(cron: Cron): string | null {
  try {
    return nextDate(cron, new Date());
  } catch {
    return null;
  }
}

/** Of an expected failure not its cause: what was sent may stand in it. */
function about(error: unknown): { error: AppError["code"]; message: string } | { err: unknown } {
  return isAppError(error) ? { error: error.code, message: errorMessage(error) } : { err: error };
}
