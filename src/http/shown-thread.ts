import { askingRun } from "../runs/asking-run.ts";
import { readNewest } from "../runs/newest-state.ts";
import type { Session } from "../storage/records.ts";
import type { HttpServices } from "./environment.ts";
import { toThread } from "./thread.ts";

/** The wire's Thread of a session, with all that is read for it: its newest values, when they were written, its error. */
export async function shownThread({ storage, runs }: Pick<HttpServices, "storage" | "runs">, session: Session) {
  const newest = await readNewest(storage, session.session_id);
  const failed = session.status === "error" ? await askingRun(runs, session.session_id) : undefined;
  return {
    ...toThread(session, newest?.values),
    ...(newest && { state_updated_at: newest.written_at }),
    ...(failed?.error && { error: { error: failed.error.error, message: failed.error.message } }),
  };
}
