import type { Session } from "../storage/records.ts";
import type { SessionTtl, SessionTtlStore } from "../storage/session-ttls.ts";
import type { Storage } from "../storage/storage.ts";
import type { SessionStorage } from "./door.ts";

/**
 * What a caller may do with a session that the caller's door has just made, whatever may be done with others: the row that
 * `create` gave is the proof of that.
 */
export interface FreshSessions {
  /** For any other session the caller must be allowed to change it. */
  setTtl(session: Session, ttl: Parameters<SessionTtlStore["set"]>[1]): Promise<SessionTtl | undefined>;
  /** Removes it, because nothing came of it. Any other stays. */
  discard(session: Session): Promise<void>;
}

/** The sessions of a door, which from now on knows those that it makes. */
export function knowFresh<Sessions extends Pick<SessionStorage["sessions"], "create">>(
  sessions: Sessions,
  ttls: SessionStorage["ttls"],
  all: Pick<Storage, "sessions" | "ttls">,
): { sessions: Sessions; fresh: FreshSessions } {
  const made = new WeakSet<Session>();
  return {
    sessions: {
      ...sessions,
      async create(session: Session) {
        const created = await sessions.create(session);
        made.add(created);
        return created;
      },
    },
    fresh: {
      setTtl: (session, ttl) => (made.has(session) ? all.ttls : ttls).set(session.session_id, ttl),
      async discard(session) {
        if (made.has(session)) await all.sessions.delete(session.session_id);
      },
    },
  };
}
