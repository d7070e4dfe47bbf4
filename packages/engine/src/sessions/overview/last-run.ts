import { AppError } from "../../errors/errors.ts";
import { askingRun, lastWorkedRun } from "../../runs/admission/draft.ts";
import { JsonObject, type Run, type Session } from "../../storage/records.ts";
import type { SessionRuns } from "../scope/session-storage.ts";

/** With what a session's next run goes on where the last one ended. */
export interface LastRun {
  assistant: string;
  /** `undefined` when the session's state was written from outside only. */
  run: Run | undefined;
  /** What that run chose; in a copy, in which none has worked yet, what the last one of its source chose. */
  context: JsonObject;
}

/** The last run that has worked in a session, and its assistant. Throws `invalid_state` when no assistant has worked on it. */
export async function lastRunOf(runs: Pick<SessionRuns, "list">, session: Session): Promise<LastRun> {
  const [newest] = await runs.list(session.session_id, { limit: 1, offset: 0 });
  const run = (await askingRun(runs, session.session_id)) ?? newest;
  const assistant = run?.assistant_id ?? session.metadata["assistant_id"] ?? session.metadata["graph_id"];
  const context = run?.kwargs.context ?? copiedContext(session);
  if (typeof assistant === "string") return { assistant, run, context };
  throw new AppError("invalid_state", `Thread ${session.session_id} has no assistant that could go on.`);
}

/** The configuration of a copy. Runs stay behind; what the last one chose goes with it, so that the copy can go on alike. */
export async function copiedConfig(runs: Pick<SessionRuns, "list">, source: Session): Promise<JsonObject> {
  const run = await lastWorkedRun(runs, source.session_id);
  const context = run?.kwargs.context ?? {};
  return Object.keys(context).length === 0 ? source.config : { ...source.config, context };
}

/** What the last run of a copy's source chose. */
export function copiedContext(session: Session): JsonObject {
  return JsonObject.safeParse(session.config["context"]).data ?? {};
}
