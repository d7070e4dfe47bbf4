import { v5 as nameUuid } from "@langchain/core/utils/uuid";
import { z } from "zod";
import { AppError } from "../errors/errors.ts";
import type { Runs } from "../runs/runs.ts";
import type { RunRequest } from "../runs/admission/draft.ts";
import { createSession } from "../sessions/sessions.ts";
import { isUser, ownerOfUser } from "../config/api-keys.ts";
import type { Cron } from "../storage/crons.ts";
import { JsonObject, type Run, type Session } from "../storage/records.ts";
import type { Storage } from "../storage/storage.ts";
import { datesBetween, nextDate } from "./schedule.ts";

/** Where a payload keeps what the rules of `auth.path` write on the threads that its cron makes. */
export const threadMetadata = "thread_metadata";

/** What a payload says of who has asked for it. */
const Asker = z.object({ config: z.object({ configurable: z.object({ langgraph_auth_user_id: z.string() }) }) });

/** What the run of a cron is started with. */
export interface CronRunParts {
  storage: Pick<Storage, "sessions" | "runs">;
  runs: Pick<Runs, "start">;
  /** What a payload asks of a run. Throws an `AppError` for one that cannot be run any more. */
  toRequest: (payload: Cron["payload"], session: Session, temporary: boolean) => Promise<RunRequest>;
}

/** A run that was started, and how many dates before now it stands for beside its own. */
export interface CronStart {
  run: Run;
  missed: number;
}

/**
 * Starts the run that a cron is due for. However many dates were missed, it is one, and its metadata says how many. The
 * cron moves on in the transaction that admits the run, so that a crash neither repeats nor loses it. Throws what
 * `Runs.start` throws, `invalid_state` for a cron that was changed meanwhile.
 */
export async function startCronRun(cron: Cron & { next_run_date: string }, parts: CronRunParts): Promise<CronStart> {
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
