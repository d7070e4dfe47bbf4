import { AppError } from "../../errors/errors.ts";
import { interruptedRun, lastExecutedRun } from "../../runs/admission/executed-runs.ts";
import { JsonObject, type Run, type Session } from "../../storage/records.ts";
import type { SessionRuns } from "../scope/session-storage.ts";

/** The settings with which a session's next run continues. */
export interface LastRun {
  assistant: string;
  /** `undefined` if the session's state was only written from outside. */
  run: Run | undefined;
  /** The run's context; in a copy without runs, that of the source's last one. */
  context: JsonObject;
}

/**
 * The last run that worked in a session, and its assistant. Throws `invalid_state` if no assistant has worked in it.
 */
export async function lastRunOf(runs: Pick<SessionRuns, "list">, session: Session): Promise<LastRun> {
  const [newest] = await runs.list(session.session_id, { limit: 1, offset: 0 });
  const run = (await interruptedRun(runs, session.session_id)) ?? newest;
  const assistant = run?.assistant_id ?? session.metadata["assistant_id"] ?? session.metadata["graph_id"];
  const context = run?.kwargs.context ?? copiedContext(session);
  if (typeof assistant === "string") return { assistant, run, context };
  throw new AppError("invalid_state", `Thread ${session.session_id} has no assistant that could go on.`);
}

/**
 * The configuration of a copy. Runs stay behind; the last one's context is copied, so that the copy continues alike.
 */
export async function copiedConfig(runs: Pick<SessionRuns, "list">, source: Session): Promise<JsonObject> {
  const run = await lastExecutedRun(runs, source.session_id);
  const context = run?.kwargs.context ?? {};
  return Object.keys(context).length === 0 ? source.config : { ...source.config, context };
}

/** The context of the last run of a copy's source. */
export function copiedContext(session: Session): JsonObject {
  return JsonObject.safeParse(session.config["context"]).data ?? {};
}
