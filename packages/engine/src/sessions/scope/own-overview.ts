import type { Session } from "../../storage/records.ts";
import type { ApprovalQuery, OperationQuery, OverviewStore, RunQuery, SessionFilter } from "../../storage/overview.ts";
import type { FeedEvent, ServerFeed } from "../overview/server-feed.ts";
import { ask, bothOf, guardedOwner, isAllowed, type AuthorizationRules } from "./guard.ts";
import { Refusal } from "../../manifest/auth.ts";

type Own<Query> = Omit<Query, "sessions">;

/** One caller's view of all threads. */
export interface OwnOverview {
  approvals(query: Own<ApprovalQuery>): ReturnType<OverviewStore["approvals"]>;
  runs(query: Own<RunQuery>): ReturnType<OverviewStore["runs"]>;
  operations(query: Own<OperationQuery>): ReturnType<OverviewStore["operations"]>;
  histogram(query: Own<Parameters<OverviewStore["histogram"]>[0]>): ReturnType<OverviewStore["histogram"]>;
  /** The numbers of open questions and of active runs. */
  counts(): Promise<{ waiting: number; working: number }>;
  /** Where a reader with everything up to `since` resumes; see `ServerFeed`. */
  resume: ServerFeed["resume"];
  /** Changes after a position, until aborted. */
  follow(from: number, signal: AbortSignal): AsyncGenerator<FeedEvent[]>;
}

/** The sessions a caller sees; `undefined`: none. */
export interface SeenSessions {
  filter: () => Promise<SessionFilter | undefined>;
  sees: (session: Session) => Promise<boolean>;
}

/** The overview of these sessions for their caller. */
export function ownOverview(overview: OverviewStore, feed: ServerFeed, { filter, sees }: SeenSessions): OwnOverview {
  return {
    async approvals(query) {
      const sessions = await filter();
      return sessions === undefined ? { rows: [], next: null } : await overview.approvals({ ...query, sessions });
    },
    async runs(query) {
      const sessions = await filter();
      return sessions === undefined ? { rows: [], next: null } : await overview.runs({ ...query, sessions });
    },
    async operations(query) {
      const sessions = await filter();
      return sessions === undefined ? { rows: [], next: null } : await overview.operations({ ...query, sessions });
    },
    async histogram(query) {
      const sessions = await filter();
      return sessions === undefined ? [] : await overview.histogram({ ...query, sessions });
    },
    async counts() {
      const sessions = await filter();
      if (sessions === undefined) return { waiting: 0, working: 0 };
      const [waiting, working] = await Promise.all([overview.waiting(sessions), overview.working(sessions)]);
      return { waiting, working };
    },
    resume: (since) => feed.resume(since),
    follow: (from, signal) => feed.follow(from, sees, signal),
  };
}

/** The sessions of an owner, with `orphans` also those without one; all without keys (`null`). */
export function sessionsSeenBy(owner: string | null, orphans: boolean): SeenSessions {
  return {
    filter: async () => (owner === null ? {} : { owner: { name: owner, orphans } }),
    sees: async (session) => owner === null || session.owner === owner || (orphans && session.owner === null),
  };
}

/** The sessions that the rules of `auth.path` show a user. */
export function sessionsSeenUnder(guard: AuthorizationRules): SeenSessions {
  return {
    async filter() {
      const value = { metadata: {}, limit: 0, offset: 0 };
      const metadata = bothOf(value.metadata, await ask(guard, "threads:search", value));
      return metadata === undefined ? undefined : { metadata };
    },
    async sees(session) {
      // What belongs to no session has no metadata for the rules.
      if (session.session_id === "") return session.owner === guardedOwner(guard);
      try {
        return isAllowed(session, await ask(guard, "threads:read", { thread_id: session.session_id }));
      } catch (error) {
        if (error instanceof Refusal) return false;
        throw error;
      }
    },
  };
}
