import type { Session } from "../../storage/records.ts";
import type { SessionTtl, SessionTtlStore } from "../../storage/session-ttls.ts";
import type { Storage } from "../../storage/storage.ts";
import type { SessionRuns, SessionStorage } from "./session-storage.ts";

/** What a session's row and states are written with. */
export interface FillParts {
  storage: { sessions: Pick<SessionStorage["sessions"], "update"> };
  runs: Pick<SessionRuns, "between">;
}

/**
 * What a caller may do with a session that this request has just made, whatever it may do with others: the row that
 * `create` returned proves it.
 */
export interface NewSessions {
  /** For any other session the caller must be allowed to change it. */
  setTtl(session: Session, ttl: Parameters<SessionTtlStore["set"]>[1]): Promise<SessionTtl | undefined>;
  /** What it is filled with; for any other session `own`. Rows that `update` returns count as new too. */
  partsFor(session: Session, own: FillParts): FillParts;
  /** Removes it, because nothing came of it. Any other stays, and one in which somebody has begun a run meanwhile. */
  discard(session: Session): Promise<void>;
}

/** The sessions of a scope, which from now on remembers those that it makes. */
export function trackNewSessions<Sessions extends Pick<SessionStorage["sessions"], "create">>(
  sessions: Sessions,
  ttls: SessionStorage["ttls"],
  { storage: all, runs }: { storage: Pick<Storage, "sessions" | "ttls">; runs: FillParts["runs"] },
): { sessions: Sessions; newSessions: NewSessions } {
  const made = new WeakSet<Session>();
  const update: FillParts["storage"]["sessions"]["update"] = async (id, patch) => {
    const updated = await all.sessions.update(id, patch);
    if (updated !== undefined) made.add(updated);
    return updated;
  };
  return {
    sessions: {
      ...sessions,
      async create(session: Session) {
        const created = await sessions.create(session);
        made.add(created);
        return created;
      },
    },
    newSessions: {
      setTtl: (session, ttl) => (made.has(session) ? all.ttls : ttls).set(session.session_id, ttl),
      partsFor: (session, own) => (made.has(session) ? { storage: { sessions: { update } }, runs } : own),
      async discard(session) {
        if (made.has(session)) await all.sessions.deleteUnused(session.session_id);
      },
    },
  };
}
