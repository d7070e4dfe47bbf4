import { z } from "zod";

/** How long a session stays that nobody touches, and what becomes of it then. */
export const SessionTtl = z.object({
  session_id: z.string(),
  minutes: z.number(),
  /** The session is deleted, or all its states but the newest one. */
  strategy: z.enum(["delete", "keep_latest"]),
  /** ISO-8601 UTC. It is later when the session was touched meanwhile. */
  expires_at: z.string(),
});
export type SessionTtl = z.infer<typeof SessionTtl>;

/** The times of sessions; they go with their sessions. Touching a session writes nothing here. */
export interface SessionTtlStore {
  /** The time begins now; `null` for ever. `undefined` for an unknown session. */
  set(sessionId: string, ttl: Pick<SessionTtl, "minutes" | "strategy"> | null): Promise<SessionTtl | undefined>;
  /** With the time that counts: that since the session was last touched. */
  get(sessionId: string): Promise<SessionTtl | undefined>;
  /** Sessions that nobody works on and nobody has touched for their time. The times of others are moved on. */
  due(): Promise<SessionTtl[]>;
  /** The time of a session is not looked at before `time` (ISO date). */
  moveOn(sessionId: string, time: string): Promise<void>;
  /** Calls back with the time (ISO date) at which a session that was given one just now is due. */
  onExpiry(tell: (time: string) => void): void;
  /** When the next one could be due (ISO date); `undefined` when none has a time. */
  next(): Promise<string | undefined>;
}
