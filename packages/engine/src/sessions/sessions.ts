import { v7 as newId } from "@langchain/core/utils/uuid";
import { clusterDate } from "../concurrency/cluster-time.ts";
import { AppError, isAppError } from "../errors/errors.ts";
import { Refusal } from "../manifest/auth.ts";
import { readNewest } from "../runs/follow/follow.ts";
import type { NewTtl } from "../storage/record-stores.ts";
import type { JsonObject, Run, Session } from "../storage/records.ts";
import { noSession } from "./scope/guard.ts";
import type { NewSessions } from "./scope/owner-scope.ts";
import type { SessionRuns, SessionStorage } from "./scope/session-storage.ts";
import { withoutUserKeys } from "../runs/admission/run-config.ts";

/** The fields of a new session. `metadata` is kept as it is: it holds names and search keys. */
export interface NewSession {
  session_id?: string | undefined;
  metadata?: JsonObject | undefined;
  /** The configuration by its runs, in a copy. Default nothing. */
  config?: JsonObject | undefined;
  /** Its open questions, in a copy. Default nothing. */
  rest?: Pick<Session, "status" | "interrupts"> | undefined;
  /** How long it is kept, `null` for ever; default as the server has it. An existing one keeps its own time. */
  ttl?: NewTtl | null | undefined;
  /** What to do if the id exists: `raise` (default) throws `conflict`, `do_nothing` returns the existing one. */
  if_exists?: "raise" | "do_nothing" | undefined;
}

/**
 * Creates a session, idle unless `rest` says otherwise. Throws `conflict` for an id in use unless told to return the
 * existing session, and `not_found` if that one is invisible to the caller, as every other request would.
 */
export async function createSession(storage: Pick<SessionStorage, "sessions">, request: NewSession): Promise<Session> {
  const now = clusterDate();
  const session: Session = {
    session_id: request.session_id ?? newId(),
    owner: null,
    created_at: now,
    updated_at: now,
    metadata: request.metadata ?? {},
    config: request.config ?? {},
    ...(request.rest ?? { status: "idle", interrupts: {} }),
  };
  for (;;) {
    try {
      return await storage.sessions.create(session, request.ttl);
    } catch (error) {
      if (!isAppError(error) || error.code !== "conflict") throw error;
      const existing = await storage.sessions.get(session.session_id);
      // Its request has failed and taken it back: the id is free again.
      if (existing === undefined) continue;
      if (request.if_exists === "do_nothing") return existing;
      throw new AppError("conflict", "Thread already exists", { cause: error });
    }
  }
}

/**
 * Works in the session with this id, which is created if missing, or in a new one. If the work fails, a session created for
 * it is deleted again, unless a run has started in it. Another request may do so meanwhile: then both are done again.
 */
export async function inSession<Result>(
  {
    storage,
    newSessions,
  }: { storage: Pick<SessionStorage, "sessions">; newSessions: Pick<NewSessions, "has" | "discard"> },
  wanted: Pick<NewSession, "session_id" | "metadata" | "ttl">,
  work: (session: Session) => Promise<Result>,
): Promise<Result> {
  for (;;) {
    const session = await createSession(storage, { ...wanted, if_exists: "do_nothing" });
    try {
      return await work(session);
    } catch (error) {
      await newSessions.discard(session);
      if (newSessions.has(session) || (await storage.sessions.get(session.session_id)) !== undefined) throw error;
    }
  }
}

/** The session. Throws `not_found`. */
export async function requireSession(storage: Pick<SessionStorage, "sessions">, sessionId: string): Promise<Session> {
  const session = await storage.sessions.get(sessionId);
  if (session === undefined) throw noSession(sessionId);
  return session;
}

/** Stops a session's runs, then deletes it with all its data. Throws `not_found`. */
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
    // A run may have started meanwhile; none can now.
    await runs.cancelSession(sessionId);
    await storage.sessions.delete(sessionId);
  };
  await runs.between(sessionId, end, "delete");
}

/**
 * Whether work on one of many items was done; the work may return false. Missing or forbidden items (`not_found`, or a
 * refusal by the rules of `auth.path`) are skipped.
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

/** The values of the session's newest checkpoint; `undefined` before the first. */
export async function readValues(
  storage: Pick<SessionStorage, "checkpointer">,
  sessionId: string,
): Promise<Record<string, unknown> | undefined> {
  return (await readNewest(storage, sessionId))?.values;
}

/** Selects runs to cancel together; see `runsToCancel`. */
interface ManyRuns {
  session_id: string | undefined;
  run_ids: string[] | undefined;
  status: "pending" | "running" | "all";
}

/**
 * A session's runs with these ids, or all active runs, of a session or of all (`cancelMany`). Throws `not_found` for a
 * session, or for a run that does not belong to it.
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

/** Keys that locate one run's start or that the server sets: never stored with a session. */
const ofOneRun = ["checkpoint_id", "checkpoint_ns", "checkpoint_map", "thread_id", "run_id"];

/** The part of a `configurable` that is stored with a session: without a run's fork point and user. */
export function lastingKeys(configurable: unknown): JsonObject {
  const keys = withoutUserKeys(configurable);
  return Object.fromEntries(Object.entries(keys).filter(([key]) => !ofOneRun.includes(key)));
}

/** The configuration that the session's runs have accumulated. */
export function storedConfigurable({ config }: Session): JsonObject {
  return config["configurable"] === undefined ? {} : lastingKeys(config["configurable"]);
}
