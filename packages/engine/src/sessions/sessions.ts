import { v7 as newId } from "@langchain/core/utils/uuid";
import { AppError, isAppError } from "../errors/errors.ts";
import { Refusal } from "../manifest/auth.ts";
import { readNewest } from "../runs/follow/follow.ts";
import type { JsonObject, Run, Session } from "../storage/records.ts";
import { noSession } from "./scope/guard.ts";
import type { SessionRuns, SessionStorage } from "./scope/session-storage.ts";
import { withoutUserKeys } from "../runs/admission/user-of-run.ts";

/** What a new session is given. `metadata` stays as given: names and searches live there. */
export interface NewSession {
  session_id?: string | undefined;
  metadata?: JsonObject | undefined;
  /** What its runs have configured, in a copy. Default nothing. */
  config?: JsonObject | undefined;
  /** What it waits for, in a copy. Default nothing. */
  rest?: Pick<Session, "status" | "interrupts"> | undefined;
  /** What to do with an id that exists: `raise` (default) throws `conflict`, `do_nothing` returns what is there. */
  if_exists?: "raise" | "do_nothing" | undefined;
}

/**
 * Creates a session, idle unless it is told what it waits for. Throws `conflict` when the id is taken, unless told to take what is there, and `not_found` when
 * it is taken by what the caller may not see: that answers as everything else does about it.
 */
export async function createSession(storage: Pick<SessionStorage, "sessions">, request: NewSession): Promise<Session> {
  const now = new Date().toISOString();
  const session: Session = {
    session_id: request.session_id ?? newId(),
    owner: null,
    created_at: now,
    updated_at: now,
    metadata: request.metadata ?? {},
    config: request.config ?? {},
    ...(request.rest ?? { status: "idle", interrupts: {} }),
  };
  try {
    return await storage.sessions.create(session);
  } catch (error) {
    if (!isAppError(error) || error.code !== "conflict") throw error;
    const existing = await requireSession(storage, session.session_id);
    if (request.if_exists === "do_nothing") return existing;
    throw new AppError("conflict", "Thread already exists", { cause: error });
  }
}

/** The session. Throws `not_found`. */
export async function requireSession(storage: Pick<SessionStorage, "sessions">, sessionId: string): Promise<Session> {
  const session = await storage.sessions.get(sessionId);
  if (session === undefined) throw noSession(sessionId);
  return session;
}

/** Removes a session with everything it holds, when its runs have been stopped. Throws `not_found`. */
export async function deleteSession(
  {
    storage,
    runs,
  }: { storage: Pick<SessionStorage, "sessions">; runs: Pick<SessionRuns, "between" | "cancelSession"> },
  sessionId: string,
): Promise<void> {
  await requireSession(storage, sessionId);
  await runs.cancelSession(sessionId);
  const end = async (): Promise<void> => {
    // One may have come meanwhile; none comes now.
    await runs.cancelSession(sessionId);
    await storage.sessions.delete(sessionId);
  };
  await runs.between(sessionId, end, "delete");
}

/**
 * Whether something was done to one of many: the work may say no itself. What is not there, or may not be touched by
 * the caller (`not_found`, or a no of the rules of `auth.path`), is passed over.
 */
export async function isDone(work: Promise<boolean | void>): Promise<boolean> {
  try {
    return (await work) !== false;
  } catch (error) {
    const isPassedOver =
      error instanceof Refusal ? error.status === 403 : isAppError(error) && error.code === "not_found";
    if (!isPassedOver) throw error;
    return false;
  }
}

/** The values of the session's newest checkpoint, or `undefined` before its first. */
export async function readValues(
  storage: Pick<SessionStorage, "checkpointer">,
  sessionId: string,
): Promise<Record<string, unknown> | undefined> {
  return (await readNewest(storage, sessionId))?.values;
}

/** Which runs are to be stopped at once; see `runsToCancel`. */
interface ManyRuns {
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

/** Keys that say where one run began, or that the server sets: they are never kept with a session. */
const ofOneRun = ["checkpoint_id", "checkpoint_ns", "checkpoint_map", "thread_id", "run_id"];

/** The part of a `configurable` that may stay with a session: without the place where one run was forked, and who asked. */
export function lastingKeys(configurable: unknown): JsonObject {
  const keys = withoutUserKeys(configurable);
  return Object.fromEntries(Object.entries(keys).filter(([key]) => !ofOneRun.includes(key)));
}

/** What the session's runs have configured so far. */
export function keptConfigurable({ config }: Session): JsonObject {
  return config["configurable"] === undefined ? {} : lastingKeys(config["configurable"]);
}
