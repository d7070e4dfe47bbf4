import { clusterDate, clusterTime } from "../concurrency/cluster-time.ts";
import { AppError, type ErrorCode, errorMessage, isAppError } from "../errors/errors.ts";
import type { Logger } from "../logger.ts";
import { Alarm, peerPollInterval } from "../runs/events/alarm.ts";
import type { Cron } from "../storage/record-stores.ts";
import type { Storage } from "../storage/storage.ts";
import { v5 as nameUuid, v7 as newId } from "@langchain/core/utils/uuid";
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
import { datesBetween, nextDate } from "./schedule.ts";

/** Milliseconds before a refused run is retried. */
const retryDelay = 5_000;

/** Milliseconds that a run is due when a server starts it that is not the leading one of several. */
const stepIn = 10_000;

/** Temporary refusals: the run is still due. */
const passing: readonly ErrorCode[] = [
  "rate_limit",
  "server",
  "storage_full",
  "storage_readonly",
  "storage_io",
  "storage_corrupt",
  "storage_unavailable",
];

/** Starts the runs of crons when they are due. */
export interface CronClock {
  /** Starts no more runs; resolves when the one being started has started. */
  stop(): Promise<void>;
}

interface ClockParts extends CronRunParts {
  storage: Pick<Storage, "crons" | "notifications" | "cluster" | "sessions" | "runs">;
  logger: Logger;
}

function isPassing(error: unknown): boolean {
  return isAppError(error) && passing.includes(error.code);
}

/**
 * Starts each cron's run at its time, using one timer for the next due date. Runs missed while the server was down
 * start at once, one per cron. A permanently refused run is skipped and logged. Of several servers the leading one does it,
 * and the others where it has not in time.
 */
export function startCronClock(parts: ClockParts): CronClock {
  const { storage, logger } = parts;
  const { crons } = storage;

  /** Whether the cron is done for this date. Never throws. */
  async function takeTurn(cron: DueCron): Promise<boolean> {
    const { cron_id, next_run_date: due } = cron;
    try {
      const { run, missed } = await startCronRun(cron, parts);
      if (missed > 0) logger.warn({ cron_id, due, missed, run_id: run.run_id }, "cron_dates_missed");
      return true;
    } catch (error) {
      const isWaiting = isPassing(error);
      // Where it was changed, deleted or run by another request, it is not due any more.
      if (!isWaiting && !(await crons.skip({ cron_id, due, next: dateAfterNow(cron) }))) return true;
      logger.warn({ cron_id, due, ...about(error) }, isWaiting ? "cron_waits" : "cron_date_passed_over");
      return !isWaiting;
    }
  }

  async function startDue(): Promise<number | undefined> {
    try {
      let isDone = true;
      const late = storage.cluster.isLeader ? 0 : stepIn;
      for (const cron of await crons.due(new Date(clusterTime() - late).toISOString())) {
        const { next_run_date } = cron;
        if (next_run_date !== null) isDone = (await takeTurn({ ...cron, next_run_date })) && isDone;
      }
      if (!isDone) return clusterTime() + retryDelay;
      const next = await crons.next();
      return next === undefined ? undefined : Date.parse(next) + late;
    } catch (error) {
      logger.error({ err: error }, "crons_not_started");
      return clusterTime() + retryDelay;
    }
  }

  const alarm = new Alarm(startDue, storage.notifications.isShared ? peerPollInterval : undefined);
  crons.onDueDate((date) => alarm.scheduleAt(Date.parse(date)));
  alarm.scheduleAt(clusterTime());
  return alarm;
}

/** The next date of a cron; `null` for an unreadable schedule, so that it does not block the others. */
function dateAfterNow(cron: Cron): string | null {
  try {
    return nextDate(cron, new Date(clusterTime()));
  } catch {
    return null;
  }
}

/** Without the cause of an expected failure, which may contain user data. */
function about(error: unknown): { error: AppError["code"]; message: string } | { err: unknown } {
  return isAppError(error) ? { error: error.code, message: errorMessage(error) } : { err: error };
}

/** The payload key for the metadata that the rules of `auth.path` write on the cron's threads. */
export const threadMetadata = "thread_metadata";

/** Who created a payload. */
const Asker = z.object({ config: z.object({ configurable: z.object({ langgraph_auth_user_id: z.string() }) }) });

/** What starting a cron's run needs. */
export interface CronRunParts {
  storage: Pick<Storage, "sessions">;
  runs: Pick<Runs, "start">;
  /** The run request of a payload. Throws an `AppError` if it can no longer run. */
  toRequest: (payload: Cron["payload"], session: Session, temporary: boolean) => Promise<RunRequest>;
}

/** A cron with a date that is due. */
type DueCron = Cron & { next_run_date: string };

/** A started run, and the number of further missed dates it stands for. */
interface CronStart {
  run: Run;
  missed: number;
}

/**
 * Starts a due cron's run: one, however many dates were missed; its metadata counts them. The cron's next date is
 * written in the transaction that admits the run, so a crash neither repeats nor loses it. Throws what `Runs.start`
 * throws, and `invalid_state` for a cron changed meanwhile.
 */
async function startCronRun(cron: DueCron, parts: CronRunParts): Promise<CronStart> {
  const { sessions } = parts.storage;
  for (;;) {
    const session = await sessionOf(cron, nameUuid(cron.next_run_date, cron.cron_id), parts);
    try {
      return await startIn(session, cron, parts);
    } catch (error) {
      if (cron.session_id !== null) throw error;
      // Another server may have started the run.
      const isDeleted = await sessions.deleteUnused(session.session_id);
      const isGone = !isDeleted && isAppError(error) && error.code === "not_found";
      if (!isGone || (await sessions.get(session.session_id)) !== undefined) throw error;
      // Another server was refused and deleted the session: that says nothing about this run.
    }
  }
}

async function startIn(session: Session, cron: DueCron, parts: CronRunParts): Promise<CronStart> {
  const { cron_id, next_run_date: due } = cron;
  const now = new Date(clusterTime());
  const missed = datesBetween(cron, new Date(due), now);
  const cronMetadata = { cron_id, cron_date: due, ...(missed > 0 && { cron_missed: missed }) };
  const request = await requestOf(cron, session, cronMetadata, parts);
  const run = await parts.runs.start(session, { ...request, cron: { cron_id, due, next: nextDate(cron, now) } });
  return { run, missed };
}

/**
 * Starts a run of a cron besides its dates, which stay as they are. Its thread stays, too: the person who starts it wants to look at it.
 * Throws what `Runs.start` throws.
 */
export async function startCronRunNow(cron: Cron, parts: CronRunParts): Promise<Run> {
  const session = await sessionOf(cron, newId(), parts);
  try {
    const kept = { ...cron, on_run_completed: "keep" } as const;
    const request = await requestOf(kept, session, { cron_id: cron.cron_id, cron_date: clusterDate() }, parts);
    return await parts.runs.start(session, request);
  } catch (error) {
    if (cron.session_id === null) await parts.storage.sessions.deleteUnused(session.session_id);
    throw error;
  }
}

async function requestOf(
  cron: Cron,
  session: Session,
  cronMetadata: JsonObject,
  { toRequest }: Pick<CronRunParts, "toRequest">,
): Promise<RunRequest> {
  const temporary = cron.session_id === null && cron.on_run_completed === "delete";
  const request = await toRequest(cron.payload, session, temporary);
  const asker = askerOf(cron);
  return {
    ...request,
    // Metadata written by the rules of `auth.path` must win over the client's.
    metadata: { ...cron.metadata, ...request.metadata, ...cronMetadata },
    // The thread may be shared by another owner.
    ...(isUser(asker) && { owner: asker }),
  };
}

/**
 * The owner of the runs: the cron's, or the user who last changed its payload, as recorded for the rules of
 * `auth.path`. In a user's cron, only they write that into the payload.
 */
function askerOf({ owner, payload }: Cron): string | null {
  if (!isUser(owner)) return owner;
  const asker = Asker.safeParse(payload).data?.config.configurable.langgraph_auth_user_id;
  return asker === undefined ? owner : ownerOfUser(asker);
}

/**
 * The session of a thread's cron, or a new one with this id. A date always has the same id, so a crash leaves no second one.
 */
async function sessionOf(
  cron: Cron,
  newSessionId: string,
  { storage }: Pick<CronRunParts, "storage">,
): Promise<Session> {
  const { session_id, cron_id, payload } = cron;
  const owner = askerOf(cron);
  if (session_id === null) {
    const { sessions } = storage;
    const marks = JsonObject.safeParse(payload[threadMetadata]).data;
    const create = (session: Session): Promise<Session> => sessions.create({ ...session, owner });
    return await createSession(
      { sessions: { ...sessions, create } },
      { session_id: newSessionId, if_exists: "do_nothing", metadata: { ...marks, cron_id } },
    );
  }
  const session = await storage.sessions.get(session_id);
  if (session === undefined) throw new AppError("invalid_state", `The thread of cron ${cron_id} is gone.`);
  return session;
}

/** Background work that runs on timers. */
interface Clockwork {
  /** Starts nothing more; resolves when work in progress has ended. */
  stop(): Promise<void>;
}

/** Starts all timers: cron runs, and expiry of old logs, unanswered questions, sessions and items. */
export function startClockwork(parts: {
  config: Pick<Config, "eventRetentionHours" | "approvalTimeoutHours">;
  storage: Storage;
  runs: Runs;
  toRequest: CronRunParts["toRequest"];
  logger: Logger;
}): Clockwork {
  const { config, storage, runs, toRequest, logger } = parts;
  const leads = (): boolean => storage.cluster.isLeader;
  const clocks = [
    startRetention({ ...storage, hours: config.eventRetentionHours, logger, leads }),
    startApprovalSweep({ storage, runs, timeoutHours: config.approvalTimeoutHours }, logger, leads),
    startExpiry({ storage, runs, logger }),
    startCronClock({ storage, runs, toRequest, logger }),
  ];
  return {
    stop: async () => {
      await Promise.all(clocks.map((clock) => clock.stop()));
    },
  };
}
