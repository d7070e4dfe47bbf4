import type { RunRequest } from "../../runs/admission/draft.ts";
import type { JsonObject, Session } from "../../storage/records.ts";
import type { Storage } from "../../storage/storage.ts";
import { noSession } from "./access.ts";
import type { SessionRuns } from "./session-storage.ts";
import { ask, guardedOwner, guardedSession, isAllowed, withUser, type Guard } from "./guard.ts";

/** The runs as the rules show them: started, stopped and removed only where a handler allows it. `runs` checks reading. */
export function guardedRuns(runs: SessionRuns, storage: Storage, guard: Guard): SessionRuns {
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
      // Time has answered, and not the user who looks: the run goes on for whom it has worked.
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
      // Asked before the work: what it writes cannot be taken back.
      await requireMay(sessionId, to === "delete" ? "threads:delete" : "threads:update");
      return await runs.between(sessionId, work, to);
    },
    cancel: async (runId, options) =>
      (await mayChange(runId, "threads:update")) ? await runs.cancel(runId, options) : undefined,
    async cancelSession(sessionId, ...more) {
      // Only who may delete a session stops all that is under way in it.
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
