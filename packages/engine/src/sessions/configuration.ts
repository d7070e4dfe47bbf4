import { withoutUserKeys } from "../runs/admission/user-of-run.ts";
import type { JsonObject, Session } from "../storage/records.ts";

/** Keys that say where one run began, or that the server sets: they are never kept with a session. */
const ofOneRun = ["checkpoint_id", "checkpoint_ns", "checkpoint_map", "thread_id", "run_id"];

/** The part of a `configurable` that may stay with a session: without the place where one run was forked, and who asked. */
export function lastingKeys(configurable: unknown): JsonObject {
  const keys = withoutUserKeys(configurable);
  return Object.fromEntries(Object.entries(keys).filter(([key]) => !ofOneRun.includes(key)));
}

/** What the session's runs have configured so far. */
export function keptConfigurable(session: Session): JsonObject {
  return lastingKeys(session.config["configurable"]);
}
