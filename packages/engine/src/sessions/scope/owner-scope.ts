import type { SessionRuns, SessionStorage } from "./session-storage.ts";
import type { Runs } from "../../runs/runs.ts";
import { adminName, ownerOfItems } from "../../config/api-keys.ts";
import type { AssistantStore, NewTtl } from "../../storage/record-stores.ts";
import type { Assistant, Namespace, Session } from "../../storage/records.ts";
import type { Storage } from "../../storage/storage.ts";
import {
  accessTo,
  ask,
  isAllowed,
  requireAccess,
  noSession,
  type Access,
  guardedAssistants,
  runnableAssistants,
  guardedOwner,
  guardedSessions,
  type AuthorizationRules,
} from "./guard.ts";
import { isAppError } from "../../errors/errors.ts";
import type { CurrentChanges } from "../../concurrency/feed.ts";
import { guardedItems, ownItems, type OwnItems } from "./guarded-items.ts";
import { guardedRuns, ownRuns } from "./own-runs.ts";
import { ownOverview, sessionsSeenBy, sessionsSeenUnder, type OwnOverview } from "./own-overview.ts";
import type { ServerFeed } from "../overview/server-feed.ts";
import type { SharedLocks } from "./shared-locks.ts";

/** The namespaces of one caller. */
export interface OwnNamespaces {
  get(namespace: string): Promise<Namespace | undefined>;
  list(): Promise<Namespace[]>;
  /** False for a session the caller does not see; for `former` see `NamespaceStore.set`. */
  set(namespace: string, sessionId: string, former?: string | null): Promise<boolean>;
  /** The current session, now and after each change, until aborted; `undefined` if there is none. */
  follow(namespace: string, signal: AbortSignal): AsyncGenerator<Namespace | undefined>;
  /** Runs `work` after all earlier work of this server for this namespace. */
  between<Result>(namespace: string, work: () => Promise<Result>): Promise<Result>;
}

/** Everything one caller can reach; nothing of others exists in it. */
export interface OwnerScope {
  /** Empty without keys. */
  owner: string;
  storage: SessionStorage;
  /** What may be done with sessions created by this request. */
  newSessions: NewSessions;
  runs: SessionRuns;
  namespaces: OwnNamespaces;
  /** The caller's view of all threads, and their changes. */
  overview: OwnOverview;
  /** Data outside sessions. */
  items: OwnItems;
  /** The caller's permissions on data that belongs to a session. */
  access: Access;
  /** The calling user of `auth.path`, as the owner of what they create. */
  user: string | undefined;
  /** The assistants that the caller may run. */
  runnable: { assistants: Pick<AssistantStore, "get"> };
}

/** The dependencies of scopes. */
export interface ScopeParts {
  storage: Storage;
  runs: Runs;
  locks: SharedLocks;
  feed: ServerFeed;
}

/**
 * The scope of one owner: it lacks the sessions of others and their data, and new sessions belong to the owner. There
 * is no other check: routes get a scope and nothing else. `null` is a server without keys, which hides nothing. With a
 * `guard`, only the rules of the user's own code decide.
 */
export function scopeFor(parts: ScopeParts, owner: string | null, guard?: AuthorizationRules): OwnerScope {
  const { storage: all, runs: allRuns, locks } = parts;
  const items =
    guard === undefined
      ? ownItems(all.items, ownerOfItems(owner))
      : guardedItems(ownItems(all.items, ownerOfItems(null)), guard);
  const own = owner === null ? all : guard === undefined ? ownStorage(all, owner) : guardedStorage(all, guard);
  const sees = async (session: Session): Promise<boolean> =>
    guard === undefined
      ? owner === null || isOwnedBy(owner, session)
      : isAllowed(session, await ask(guard, "threads:read", { thread_id: session.session_id }));
  const { sessions: tracked, newSessions } = trackNewSessions(own.sessions, parts, sees);
  const storage = { ...own, sessions: withDeletionNotice(tracked, locks.changes) };
  const namespaces = ownNamespaces(all, storage.sessions, owner ?? "", locks);
  const access = accessTo(tracked, all, guard);
  const user = guard && guardedOwner(guard);
  const seen = guard === undefined ? sessionsSeenBy(owner, owner === adminName) : sessionsSeenUnder(guard);
  const overview = ownOverview(all.overview, parts.feed, seen);
  const common = { owner: owner ?? "", storage, newSessions, namespaces, overview, items, access, user };
  if (owner === null) return { ...common, runs: allRuns, runnable: all };
  const runnable = guard === undefined ? storage : { assistants: runnableAssistants(all.assistants, guard) };
  const runs = ownRuns(allRuns, { sessions: storage.sessions, ...runnable }, all.assistants);
  return { ...common, runs: guard === undefined ? runs : guardedRuns(runs, all, guard), runnable };
}

/** A deleted session may have been the current one. */
function withDeletionNotice(sessions: SessionStorage["sessions"], changes: CurrentChanges): SessionStorage["sessions"] {
  return {
    ...sessions,
    async delete(sessionId) {
      const isGone = await sessions.delete(sessionId);
      if (isGone) changes.notify();
      return isGone;
    },
  };
}

/** Sessions without an owner are those of the administrator. */
function isOwnedBy(name: string, { owner }: Session): boolean {
  return owner === name || (owner === null && name === adminName);
}

function ownStorage(storage: Storage, owner: string): SessionStorage {
  const orphans = owner === adminName;
  const get = async (id: string): Promise<Session | undefined> => {
    const session = await storage.sessions.get(id);
    return session !== undefined && isOwnedBy(owner, session) ? session : undefined;
  };
  return {
    ...partsOfSessions(storage, accessTo({ get }, storage, undefined)),
    assistants: ownAssistants(storage.assistants, owner),
    tasks: storage.tasks.ownedBy(owner, orphans),
    sessions: {
      get,
      create: (session, ttl) => storage.sessions.create({ ...session, owner }, ttl),
      update: async (id, patch) => ((await get(id)) === undefined ? undefined : storage.sessions.update(id, patch)),
      delete: async (id) => (await get(id)) !== undefined && storage.sessions.delete(id),
      search: (query) => storage.sessions.search({ ...query, owner: { name: owner, orphans } }),
    },
  };
}

function guardedStorage(storage: Storage, guard: AuthorizationRules): SessionStorage {
  const sessions = guardedSessions(storage, guard);
  return {
    ...partsOfSessions(storage, accessTo(sessions, storage, guard)),
    assistants: guardedAssistants(storage.assistants, guard),
    tasks: storage.tasks.ownedBy(guardedOwner(guard)),
    sessions,
  };
}

/** Data of a session, if the caller may see it or change it. */
function partsOfSessions(
  { approvals, checkpointer, ledger, requests, ttls, whileCreating }: Storage,
  { sees, mayChange }: Access,
): Omit<SessionStorage, "assistants" | "tasks" | "sessions"> {
  return {
    checkpointer,
    whileCreating,
    requests: {
      last: async (id, node) => ((await sees(id)) ? requests.last(id, node) : undefined),
      calls: async (id, runId) => ((await sees(id)) ? requests.calls(id, runId) : []),
      call: async (id, runId, number) => ((await sees(id)) ? requests.call(id, runId, number) : undefined),
    },
    ttls: {
      get: async (id) => ((await sees(id)) ? ttls.get(id) : undefined),
      async set(id, ttl) {
        await requireAccess(mayChange(id), id);
        return await ttls.set(id, ttl);
      },
    },
    ledger: {
      list: async (id) => ((await sees(id)) ? ledger.list(id) : []),
      get: async (id, callId) => ((await sees(id)) ? ledger.get(id, callId) : undefined),
      begun: async (id, callIds) => ((await sees(id)) ? ledger.begun(id, callIds) : new Map()),
    },
    approvals: {
      get: async (id, interruptId) => ((await sees(id)) ? approvals.get(id, interruptId) : undefined),
      pending: async (id) => ((await sees(id)) ? approvals.pending(id) : []),
      // Queries over all sessions are the server's own work.
      askedBefore: async () => [],
      grants: async (id) => ((await sees(id)) ? approvals.grants(id) : []),
      revoke: async (id, grantId) => (await mayChange(id)) && approvals.revoke(id, grantId),
    },
  };
}

/** System assistants are visible to all; who may change them is decided elsewhere. */
function ownAssistants(assistants: AssistantStore, owner: string): AssistantStore {
  const orphans = owner === adminName;
  const isSeen = (one: Assistant): boolean => one.is_system || one.owner === owner || (orphans && one.owner === null);
  const get: AssistantStore["get"] = async (id) => {
    const found = await assistants.get(id);
    return found !== undefined && isSeen(found) ? found : undefined;
  };
  return {
    get,
    create: (assistant) => assistants.create({ ...assistant, owner }),
    update: (assistant, patch) => assistants.update(assistant, patch),
    setLatest: async (id, version) => ((await get(id)) === undefined ? undefined : assistants.setLatest(id, version)),
    versions: async (id, query) => ((await get(id)) === undefined ? [] : assistants.versions(id, query)),
    delete: async (id) => (await get(id)) !== undefined && assistants.delete(id),
    search: (query, system) => assistants.search({ ...query, owner: { name: owner, orphans } }, system),
  };
}

function ownNamespaces(
  { namespaces }: Pick<Storage, "namespaces">,
  sessions: Pick<SessionStorage["sessions"], "get">,
  owner: string,
  { changes, namespaces: turns }: SharedLocks,
): OwnNamespaces {
  return {
    between: (namespace, work) => turns.run(JSON.stringify([owner, namespace]), work),
    get: (namespace) => namespaces.get(owner, namespace),
    list: () => namespaces.list(owner),
    async set(namespace, id, former) {
      const isSet = (await sessions.get(id)) !== undefined && (await namespaces.set(owner, namespace, id, former));
      if (isSet) changes.notify();
      return isSet;
    },
    follow: (namespace, signal) =>
      changes.follow(
        () => namespaces.get(owner, namespace),
        (left, right) => left?.session_id === right?.session_id,
        signal,
      ),
  };
}

/** What writes a session's row and states. */
export interface FillParts {
  storage: { sessions: Pick<SessionStorage["sessions"], "update"> };
  runs: Pick<SessionRuns, "between">;
}

/**
 * What a caller may do with a session this request just created, whatever its other permissions: the row that `create`
 * returned proves it.
 */
export interface NewSessions {
  /** For a new session, parts that can fill it; for any other `own`. Rows that `update` returns count as new, too. */
  partsFor(session: Session, own: FillParts): FillParts;
  /** Whether this request has created it. */
  has(session: Session): boolean;
  /** Deletes a new session after a failure. Others stay, and so does one in which a run has started. */
  discard(session: Session): Promise<void>;
}

/** A scope's sessions, which remember those they create. `create` throws `not_found` for an id that is not seen and in use. */
export function trackNewSessions<Sessions extends Pick<SessionStorage["sessions"], "create">>(
  sessions: Sessions,
  { storage: all, runs }: { storage: Pick<Storage, "sessions">; runs: FillParts["runs"] },
  sees: (session: Session) => boolean | Promise<boolean>,
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
      async create(session: Session, ttl?: NewTtl | null) {
        const created = await sessions.create(session, ttl).catch(async (error: unknown) => {
          const existing =
            isAppError(error) && error.code === "conflict" && (await all.sessions.get(session.session_id));
          // What is there no longer has been taken back by its request, which has failed; it is not hidden.
          throw existing && !(await sees(existing)) ? noSession(session.session_id) : error;
        });
        made.add(created);
        return created;
      },
    },
    newSessions: {
      has: (session) => made.has(session),
      partsFor: (session, own) => (made.has(session) ? { storage: { sessions: { update } }, runs } : own),
      async discard(session) {
        if (made.has(session)) await all.sessions.deleteUnused(session.session_id);
      },
    },
  };
}
