import { AppError } from "../errors.ts";
import type { Run, Session } from "../storage/records.ts";
import type { SessionRuns } from "./door.ts";

/** With what a session's next run goes on where the last one ended. */
export interface LastRun {
  assistant: string;
  /** `undefined` when the session's state was written from outside only. */
  run: Run | undefined;
}

/** The last run of a session and its assistant. Throws `invalid_state` when no assistant has worked on it. */
export async function lastRunOf(runs: Pick<SessionRuns, "list">, session: Session): Promise<LastRun> {
  const [run] = await runs.list(session.session_id, { limit: 1, offset: 0 });
  const assistant = run?.assistant_id ?? session.metadata["assistant_id"] ?? session.metadata["graph_id"];
  if (typeof assistant === "string") return { assistant, run };
  throw new AppError("invalid_state", `Thread ${session.session_id} has no assistant that could go on.`);
}
