import { AppError, type ErrorCode, errorMessage, isAppError } from "../errors/errors.ts";
import type { Logger } from "../logger.ts";
import { Alarm } from "../runs/events/alarm.ts";
import type { Cron } from "../storage/record-stores.ts";
import type { Storage } from "../storage/storage.ts";
import { v5 as nameUuid } from "@langchain/core/utils/uuid";
import { z } from "zod";
import type { Runs } from "../runs/runs.ts";
import type { RunRequest } from "../runs/admission/draft.ts";
import { createSession } from "../sessions/sessions.ts";
import { isUser, ownerOfUser } from "../config/api-keys.ts";
import { JsonObject, type Run, type Session } from "../storage/records.ts";
import type { Config } from "../config/config.ts";
import { startRetention } from "../runs/events/retention.ts";
import { startApprovalSweep } from "../sessions/questions/approvals.ts";
import { startExpiry } from "../sessions/state/prune.ts";
import { Cron as Schedule } from "croner";

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
  "storage_unavailable",
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

/** Where a payload keeps what the rules of `auth.path` write on the threads that its cron makes. */
export const threadMetadata = "thread_metadata";

/** What a payload says of who has asked for it. */
const Asker = z.object({ config: z.object({ configurable: z.object({ langgraph_auth_user_id: z.string() }) }) });

/** What the run of a cron is started with. */
interface CronRunParts {
  storage: Pick<Storage, "sessions" | "runs">;
  runs: Pick<Runs, "start">;
  /** What a payload asks of a run. Throws an `AppError` for one that cannot be run any more. */
  toRequest: (payload: Cron["payload"], session: Session, temporary: boolean) => Promise<RunRequest>;
}

/** A run that was started, and how many dates before now it stands for beside its own. */
interface CronStart {
  run: Run;
  missed: number;
}

/**
 * Starts the run that a cron is due for. However many dates were missed, it is one, and its metadata says how many. The
 * cron moves on in the transaction that admits the run, so that a crash neither repeats nor loses it. Throws what
 * `Runs.start` throws, `invalid_state` for a cron that was changed meanwhile.
 */
async function startCronRun(cron: Cron & { next_run_date: string }, parts: CronRunParts): Promise<CronStart> {
  const { cron_id, next_run_date: due } = cron;
  const now = new Date();
  const missed = datesBetween(cron, new Date(due), now);
  const asker = askerOf(cron);
  const session = await sessionOf(cron, asker, parts);
  try {
    const temporary = cron.session_id === null && cron.on_run_completed === "delete";
    const request = await parts.toRequest(cron.payload, session, temporary);
    const told = { cron_id, cron_date: due, ...(missed > 0 && { cron_missed: missed }) };
    const run = await parts.runs.start(session, {
      ...request,
      // What the rules of `auth.path` wrote is the request's, and no client writes over it.
      metadata: { ...cron.metadata, ...request.metadata, ...told },
      cron: { cron_id, due, next: nextDate(cron, now) },
      // The thread may be one that somebody else has shared.
      ...(isUser(asker) && { owner: asker }),
    });
    return { run, missed };
  } catch (error) {
    if (cron.session_id === null) await removeUnused(session, parts);
    throw error;
  }
}

/**
 * Whose the runs are: the cron's, or who has changed what it asks for since, as the rules of `auth.path` were told
 * then. Only they have written that into the payload of a user's cron.
 */
function askerOf({ owner, payload }: Cron): string | null {
  if (!isUser(owner)) return owner;
  const asker = Asker.safeParse(payload).data?.config.configurable.langgraph_auth_user_id;
  return asker === undefined ? owner : ownerOfUser(asker);
}

/** The session of a thread's cron, or a new one. The same date gives the same one, so that a crash leaves no second. */
async function sessionOf(
  cron: Cron & { next_run_date: string },
  owner: string | null,
  { storage }: CronRunParts,
): Promise<Session> {
  const { session_id, cron_id, next_run_date, payload } = cron;
  if (session_id === null) {
    const { sessions } = storage;
    const marks = JsonObject.safeParse(payload[threadMetadata]).data;
    const create = (session: Session): Promise<Session> => sessions.create({ ...session, owner });
    return await createSession(
      { sessions: { ...sessions, create } },
      { session_id: nameUuid(next_run_date, cron_id), if_exists: "do_nothing", metadata: { ...marks, cron_id } },
    );
  }
  const session = await storage.sessions.get(session_id);
  if (session === undefined) throw new AppError("invalid_state", `The thread of cron ${cron_id} is gone.`);
  return session;
}

async function removeUnused({ session_id }: Session, { storage }: CronRunParts): Promise<void> {
  const runs = await storage.runs.list(session_id, { limit: 1, offset: 0 });
  if (runs.length === 0) await storage.sessions.delete(session_id);
}

/** What happens because it is time for it. */
interface Clockwork {
  /** Nothing more happens; resolves when what is under way has ended. */
  stop(): Promise<void>;
}

/** Starts all of it: runs of crons, the ends of old logs, of unanswered questions, and of sessions and items with a time. */
export function startClockwork(parts: {
  config: Pick<Config, "eventRetentionHours" | "approvalTimeoutHours">;
  storage: Storage;
  runs: Runs;
  toRequest: CronRunParts["toRequest"];
  logger: Logger;
}): Clockwork {
  const { config, storage, runs, toRequest, logger } = parts;
  const clocks = [
    startRetention({ events: storage.events, hours: config.eventRetentionHours, logger }),
    startApprovalSweep({ storage, runs, timeoutHours: config.approvalTimeoutHours }, logger),
    startExpiry({ storage, runs, logger }),
    startCronClock({ storage, runs, toRequest, logger }),
  ];
  return {
    stop: async () => {
      await Promise.all(clocks.map((clock) => clock.stop()));
    },
  };
}

/** What says when a cron is due. */
type CronTimes = Pick<Cron, "schedule" | "timezone" | "end_time">;

/** Dates that are counted at most: after a long time away nobody needs the number of all of them. */
const counted = 1_000;

/** Whether there is such a time zone: a name of the IANA database, such as Europe/Berlin or UTC. */
export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

/** Whether a text is a schedule: minute, hour, day of the month, month and day of the week, as in `30 9 * * 1-5`. */
export function isSchedule(text: string): boolean {
  try {
    return parse(text, null).getPattern() !== undefined;
  } catch {
    return false;
  }
}

function parse(schedule: string, timezone: string | null): Schedule {
  // Without a time zone the library would take this machine's.
  return new Schedule(schedule, { timezone: timezone ?? "UTC", mode: "5-part" });
}

/**
 * The first date after `after` at which a cron is due (ISO), before its end; `null` when there is none. A time that a clock
 * skips in spring is due when it has skipped it, one that comes twice in autumn is due once; steps and ranges go by the hour.
 */
export function nextDate({ schedule, timezone, end_time }: CronTimes, after: Date): string | null {
  const next = parse(schedule, timezone).nextRun(after);
  if (next === null || (end_time !== null && next >= new Date(end_time))) return null;
  return next.toISOString();
}

/** How many dates a cron was due at after `from` until `to`; counts no further than a thousand. */
export function datesBetween(times: CronTimes, from: Date, to: Date): number {
  let count = 0;
  for (let at = nextDate(times, from); at !== null && at <= to.toISOString() && count < counted; count += 1) {
    at = nextDate(times, new Date(at));
  }
  return count;
}
