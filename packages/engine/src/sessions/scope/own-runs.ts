import { AppError } from "../../errors/errors.ts";
import { assistantNotFound, type RunRequest } from "../../runs/admission/draft.ts";
import type { Runs } from "../../runs/runs.ts";
import type { AssistantStore } from "../../storage/record-stores.ts";
import type { JsonObject, Run, Session } from "../../storage/records.ts";
import type { SessionRuns, SessionStorage } from "./session-storage.ts";
import type { Storage } from "../../storage/storage.ts";
import { ask, type AuthorizationRules, guardedOwner, guardedSession, isAllowed, noSession, withUser } from "./guard.ts";

/** The runs of an owner's sessions; `everyAssistant` distinguishes another owner's assistant from a missing one. */
export function ownRuns(
  runs: Runs,
  { sessions, assistants }: Pick<SessionStorage, "sessions"> & { assistants: Pick<AssistantStore, "get"> },
  everyAssistant: Pick<AssistantStore, "get">,
): SessionRuns {
  const isOwn = async (sessionId: string): Promise<boolean> => (await sessions.get(sessionId)) !== undefined;
  const ownOf = async (found: readonly Run[]): Promise<Run[]> => {
    const own: Run[] = [];
    for (const run of found) if (await isOwn(run.session_id)) own.push(run);
    return own;
  };
  const get: SessionRuns["get"] = async (runId) => {
    const run = await runs.get(runId);
    return run === undefined ? undefined : (await ownOf([run]))[0];
  };
  return {
    get,
    async start(session, request) {
      const { session_id } = session;
      if (!(await isOwn(session_id))) throw new AppError("not_found", `Thread with ID ${session_id} not found`);
      const { assistant: id, found } = request;
      const isKnown = found !== undefined || (await assistants.get(id)) !== undefined;
      if (!isKnown && (await everyAssistant.get(id)) !== undefined) throw assistantNotFound(id);
      return await runs.start(session, request);
    },
    async between(sessionId, work) {
      if (await isOwn(sessionId)) return await runs.between(sessionId, work);
      throw new AppError("not_found", `Thread with ID ${sessionId} not found`);
    },
    unfinished: async () => ownOf(await runs.unfinished()),
    submitted: async (sessionId, submission) =>
      (await isOwn(sessionId)) ? runs.submitted(sessionId, submission) : undefined,
    list: async (sessionId, query) => ((await isOwn(sessionId)) ? runs.list(sessionId, query) : []),
    async *followSession(sessionId, place, signal) {
      if (await isOwn(sessionId)) yield* runs.followSession(sessionId, place, signal);
    },
    followRecord: (sessionId, since, signal) => ownRecord(runs, isOwn, { sessionId, since, signal }),
    async wait(runId, signal) {
      if ((await get(runId)) === undefined) throw new AppError("not_found", `Run "${runId}" not found.`);
      return await runs.wait(runId, signal);
    },
    cancel: async (runId, options) => ((await get(runId)) === undefined ? undefined : runs.cancel(runId, options)),
    delete: async (runId) => (await get(runId)) !== undefined && runs.delete(runId),
    cancelSession: async (sessionId) => {
      if (await isOwn(sessionId)) await runs.cancelSession(sessionId);
    },
    ...runMethods(runs),
  };
}

/** Methods that take a run, session or assistant already found in the scope. */
function runMethods(
  runs: Runs,
): Pick<
  SessionRuns,
  | "removeOfAssistant"
  | "followBatches"
  | "tail"
  | "findGap"
  | "lastValues"
  | "placeOf"
  | "waitReason"
  | "stopStateOf"
  | "liveOf"
  | "traces"
> {
  return {
    removeOfAssistant: (assistantId) => runs.removeOfAssistant(assistantId),
    followBatches: (run, after, signal) => runs.followBatches(run, after, signal),
    tail: (run, signal) => runs.tail(run, signal),
    findGap: (run, after) => runs.findGap(run, after),
    lastValues: (run) => runs.lastValues(run),
    placeOf: (run) => runs.placeOf(run),
    waitReason: (run) => runs.waitReason(run),
    stopStateOf: (sessionId) => runs.stopStateOf(sessionId),
    liveOf: (sessionId) => runs.liveOf(sessionId),
    traces: runs.traces,
  };
}

/** The record of the owner's session, which may be created later. */
async function* ownRecord(
  runs: Runs,
  isOwn: (sessionId: string) => Promise<boolean>,
  { sessionId, since, signal }: { sessionId: string; since: Parameters<Runs["followRecord"]>[1]; signal: AbortSignal },
): ReturnType<Runs["followRecord"]> {
  // Another owner's looks as if it did not exist.
  let own = false;
  for await (const item of runs.followRecord(sessionId, since, signal)) {
    if ("waits" in item) {
      yield item;
      continue;
    }
    own ||= await isOwn(sessionId);
    if (own || "caughtUp" in item) yield item;
  }
}

/** The runs under the rules: started, stopped and removed only if a handler allows it. `runs` checks reading. */
export function guardedRuns(runs: SessionRuns, storage: Storage, guard: AuthorizationRules): SessionRuns {
  const mayChange = async (runId: string, event: "threads:update" | "threads:delete"): Promise<boolean> => {
    const run = await runs.get(runId);
    return run !== undefined && (await guardedSession(storage, guard, run.session_id, event)) !== undefined;
  };
  const requireMay = async (sessionId: string, event: "threads:update" | "threads:delete"): Promise<void> => {
    if ((await guardedSession(storage, guard, sessionId, event)) === undefined) throw noSession(sessionId);
  };
  return {
    ...runs,
    async start(session, request) {
      // A time-out answered, not the user who looks: the run continues for its original user.
      if (request.answer?.decided_by === "timeout") return await runs.start(session, request);
      const value = { ...valueOf(session, request), metadata: { ...request.metadata } };
      const filter = await ask(guard, "threads:create_run", value);
      const known = await storage.sessions.get(session.session_id);
      if (known === undefined || !isAllowed(known, filter)) {
        throw noSession(session.session_id);
      }
      const { metadata } = value;
      return await runs.start(session, {
        ...request,
        metadata,
        config: withUser(request, guard),
        owner: guardedOwner(guard),
      });
    },
    async between(sessionId, work, to = "change") {
      // Checked before the work, whose writes cannot be undone.
      await requireMay(sessionId, to === "delete" ? "threads:delete" : "threads:update");
      return await runs.between(sessionId, work, to);
    },
    cancel: async (runId, options) =>
      (await mayChange(runId, "threads:update")) ? await runs.cancel(runId, options) : undefined,
    async cancelSession(sessionId, ...more) {
      // Stopping everything in a session requires permission to delete it.
      await requireMay(sessionId, "threads:delete");
      return await runs.cancelSession(sessionId, ...more);
    },
    delete: async (runId) => (await mayChange(runId, "threads:delete")) && (await runs.delete(runId)),
  };
}

function valueOf(session: Session, request: RunRequest): JsonObject {
  const {
    assistant,
    metadata,
    multitask_strategy,
    after_seconds,
    submission: _key,
    answer: _answer,
    found: _found,
    owner: _owner,
    request: _request,
    ...kwargs
  } = request;
  return {
    thread_id: session.session_id,
    assistant_id: assistant,
    metadata,
    multitask_strategy,
    ...(after_seconds === undefined ? {} : { after_seconds }),
    kwargs,
  };
}
