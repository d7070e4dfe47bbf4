import type { JsonObject, Session } from "./records.ts";

/** What a write has changed. `patch` is what is so now, by the names of the wire, as far as the write knows it. */
export interface Change {
  type: "thread" | "run" | "approval" | "operation";
  what: "created" | "changed" | "deleted";
  id: string;
  session_id: string;
  patch: JsonObject;
  /** The row of a session that is gone. */
  session?: Session;
}

/** Is told of what each transaction has changed, once it is committed. It must not throw and must not take long. */
export type ChangeListener = (changes: readonly Change[]) => void;
