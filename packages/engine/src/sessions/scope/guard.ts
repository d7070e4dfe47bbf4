import { AppError } from "../../errors/errors.ts";
import { type AuthContext, type AuthEvent, type CustomAuth, Refusal, type RowFilter } from "../../manifest/auth.ts";
import { ownerOfUser } from "../../config/api-keys.ts";
import { withoutUserKeys } from "../../runs/admission/run-config.ts";
import { contains } from "../../storage/items/contains.ts";
import type { Assistant, JsonObject, Session } from "../../storage/records.ts";
import type { Storage } from "../../storage/storage.ts";
import type { SessionStorage } from "./session-storage.ts";
import type { AssistantStore } from "../../storage/record-stores.ts";

/** One user under the rules of `auth.path`. */
export interface AuthorizationRules {
  context: AuthContext;
  authorize: CustomAuth["authorize"];
}

type Sessions = SessionStorage["sessions"];

/** The owner of a user's things outside the rules, such as tasks and namespaces, and of the user's runs. */
export function guardedOwner({ context }: AuthorizationRules): string {
  return ownerOfUser(context.user.identity);
}

/** Asks the rules about an action of this user; they may change `value`. */
export function ask(
  { context, authorize }: AuthorizationRules,
  event: AuthEvent,
  value: JsonObject,
): Promise<RowFilter | undefined> {
  return authorize(context, event, value);
}

/** Whether a row passes a filter. */
export function isAllowed(session: Session, filter: RowFilter | undefined): boolean {
  return filter === undefined || contains(session.metadata, filter);
}

/** A session that the rules show this user for an action; others do not exist. */
export async function guardedSession(
  storage: Pick<Storage, "sessions">,
  guard: AuthorizationRules,
  id: string,
  event: "threads:read" | "threads:update" | "threads:delete" = "threads:read",
): Promise<Session | undefined> {
  const session = await storage.sessions.get(id);
  if (session === undefined) return undefined;
  return isAllowed(session, await ask(guard, event, { thread_id: id })) ? session : undefined;
}

/** A user's sessions under the rules of `auth.path`. */
export function guardedSessions(storage: Storage, guard: AuthorizationRules): Sessions {
  const { sessions } = storage;
  return {
    get: (id) => guardedSession(storage, guard, id),
    async create(session, ttl) {
      const { session_id } = session;
      // An existing session is not created, which needs no permission.
      const isSeen =
        (await sessions.get(session_id)) !== undefined && (await guardedSession(storage, guard, session_id));
      if (isSeen) throw new AppError("conflict", `A thread "${session_id}" already exists.`);
      const value = { thread_id: session_id, metadata: { ...session.metadata } };
      await ask(guard, "threads:create", value);
      // Its visibility follows from the metadata the rules wrote.
      return await sessions.create({ ...session, metadata: value.metadata, owner: guardedOwner(guard) }, ttl);
    },
    async update(id, patch) {
      const session = await sessions.get(id);
      if (session === undefined) return undefined;
      const value: JsonObject = { thread_id: id, ...(patch.metadata && { metadata: { ...patch.metadata } }) };
      if (!isAllowed(session, await ask(guard, "threads:update", value))) return undefined;
      // Handlers may only change metadata.
      const metadata = patch.metadata === undefined ? undefined : (value["metadata"] as JsonObject);
      return await sessions.update(id, { ...patch, ...(metadata && { metadata }) });
    },
    async delete(id) {
      const session = await guardedSession(storage, guard, id, "threads:delete");
      return session !== undefined && (await sessions.delete(id));
    },
    async search(query) {
      const value = { metadata: { ...query.metadata }, limit: query.limit, offset: query.offset };
      const filter = await ask(guard, "threads:search", value);
      const metadata = bothOf(value.metadata, filter);
      return metadata === undefined ? { sessions: [], total: 0 } : await sessions.search({ ...query, metadata });
    },
  };
}

/** Combines a requested filter with the rules' filter; `undefined` if nothing can match both. */
export function bothOf(requested: JsonObject, filter: RowFilter = {}): JsonObject | undefined {
  const both = { ...requested };
  for (const [key, wanted] of Object.entries(filter)) {
    const own = both[key];
    if (own === undefined || contains(wanted, own)) both[key] = wanted;
    else if (Array.isArray(own) && Array.isArray(wanted)) both[key] = [...own, ...wanted];
    else if (!contains(own, wanted)) return undefined;
  }
  return both;
}

/** Adds the user to a run's configuration, overriding any claim by the client. */
export function withUser(
  { config }: { config: JsonObject },
  { context: { user, scopes } }: AuthorizationRules,
): JsonObject {
  return {
    ...config,
    configurable: {
      ...withoutUserKeys(config["configurable"]),
      langgraph_auth_user: user,
      langgraph_auth_user_id: user.identity,
      langgraph_auth_permissions: scopes,
    },
  };
}

/** A user's assistants under the rules of `auth.path`. */
export function guardedAssistants(assistants: AssistantStore, guard: AuthorizationRules): AssistantStore {
  const seen = async (id: string, event: AuthEvent): Promise<Assistant | undefined> => {
    // Checked first: a user without any permission is refused whether the assistant exists or not.
    const filter = await ask(guard, event, { assistant_id: id });
    const found = await assistants.get(id);
    return found !== undefined && contains(found.metadata, filter ?? {}) ? found : undefined;
  };
  return {
    get: (id) => seen(id, "assistants:read"),
    async create(assistant) {
      const value = { ...assistant, metadata: { ...assistant.metadata } };
      await ask(guard, "assistants:create", value);
      return await assistants.create({ ...assistant, metadata: value.metadata });
    },
    async update(assistant, patch) {
      const { assistant_id } = assistant;
      const value = { assistant_id, ...patch, metadata: { ...patch.metadata } };
      const filter = await ask(guard, "assistants:update", value);
      if (!contains(assistant.metadata, filter ?? {})) throw new AppError("not_found", "Assistant not found");
      return await assistants.update(assistant, { ...patch, ...(patch.metadata && { metadata: value.metadata }) });
    },
    setLatest: async (id, version) =>
      (await seen(id, "assistants:update")) === undefined ? undefined : await assistants.setLatest(id, version),
    versions: async (id, query) =>
      (await seen(id, "assistants:read")) === undefined ? [] : await assistants.versions(id, query),
    async delete(id) {
      if ((await seen(id, "assistants:delete")) === undefined) throw new AppError("not_found", "Assistant not found");
      return await assistants.delete(id);
    },
    async search(query, system) {
      const { graph_id, limit, offset } = query;
      const value = { ...(graph_id && { graph_id }), metadata: { ...query.metadata }, limit, offset };
      const metadata = bothOf(value.metadata, await ask(guard, "assistants:search", value));
      return metadata === undefined
        ? { assistants: [], total: 0 }
        : await assistants.search({ ...query, metadata }, system);
    },
  };
}

/**
 * The assistants this user may run: hidden ones cannot be run. A user without permission to read assistants can still
 * run them: runs have an event of their own, which names the assistant.
 */
export function runnableAssistants(assistants: AssistantStore, guard: AuthorizationRules): Pick<AssistantStore, "get"> {
  const shown = guardedAssistants(assistants, guard);
  return {
    get: async (id) => {
      const found = await assistants.get(id);
      if (found === undefined || found.is_system) return found;
      return await shown.get(id).catch((error: unknown) => {
        if (error instanceof Refusal) return found;
        throw error;
      });
    },
  };
}

/**
 * A caller's permissions on data that belongs to a session. A session's owner has both; the rules of `auth.path` may
 * separate them.
 */
export interface Access {
  sees: (sessionId: string) => Promise<boolean>;
  /** Checked before every write. */
  mayChange: (sessionId: string) => Promise<boolean>;
}

/** The permissions of the caller who sees `sessions`. */
export function accessTo(
  sessions: Pick<SessionStorage["sessions"], "get">,
  storage: Pick<Storage, "sessions">,
  guard: AuthorizationRules | undefined,
): Access {
  const sees = async (id: string): Promise<boolean> => (await sessions.get(id)) !== undefined;
  if (guard === undefined) return { sees, mayChange: sees };
  return { sees, mayChange: async (id) => (await guardedSession(storage, guard, id, "threads:update")) !== undefined };
}

/** Throws `not_found` without permission: what a caller may not do looks as if it did not exist. */
export async function requireAccess(isAllowed: Promise<boolean>, sessionId: string): Promise<void> {
  if (!(await isAllowed)) throw noSession(sessionId);
}

/** The error for a session that does not exist or is not visible to the caller. */
export function noSession(sessionId: string): AppError {
  return new AppError("not_found", `Thread with ID ${sessionId} not found`);
}
