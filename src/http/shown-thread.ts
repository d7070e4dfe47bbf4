import { readNewest } from "../runs/newest-state.ts";
import type { Session } from "../storage/records.ts";
import type { HttpServices } from "./environment.ts";
import { toThread } from "./thread.ts";

/** The wire's Thread of a session, with all that is read for it: its newest values, when they were written, its error. */
export async function shownThread({ storage, runs }: Pick<HttpServices, "storage" | "runs">, session: Session) {
  const newest = await readNewest(storage, session.session_id);
  const [last] = session.status === "error" ? await runs.list(session.session_id, { limit: 1, offset: 0 }) : [];
  return {
    ...toThread(session, newest?.values),
    ...(newest && { state_updated_at: newest.written_at }),
    ...(last?.error && { error: { error: last.error.error, message: last.error.message } }),
  };
}
