import { AppError } from "../errors/errors.ts";
import type { JsonObject, Session } from "../storage/records.ts";
import type { OwnerScope } from "./scope/owner-scope.ts";
import { createSession, requireSession } from "./sessions.ts";

type Parts = Pick<OwnerScope, "storage" | "namespaces">;

/** The current session of a namespace. Throws `not_found` if there is none. */
export async function currentSession({ storage, namespaces }: Parts, namespace: string): Promise<Session> {
  const current = await namespaces.get(namespace);
  const session = current === undefined ? undefined : await storage.sessions.get(current.session_id);
  if (session !== undefined) return session;
  throw new AppError("not_found", `The namespace ${namespace} has no current thread.`, {
    suggestion: "POST /namespaces/:namespace/current makes one.",
  });
}

/** Makes a session the current one of a namespace, also after a restart. Throws `not_found`. */
export async function switchSession(
  { storage, namespaces }: Parts,
  namespace: string,
  sessionId: string,
): Promise<Session> {
  const session = await requireSession(storage, sessionId);
  if (await namespaces.set(namespace, sessionId)) return session;
  throw new AppError("not_found", `Thread with ID ${sessionId} not found`);
}

/**
 * The current session of a namespace, or a new one that becomes it. Of concurrent calls, one creates it and all get it.
 */
export function openNamespace(
  parts: Parts & Pick<OwnerScope, "newSessions">,
  namespace: string,
  metadata: JsonObject,
): Promise<Session> {
  const { storage, namespaces, newSessions } = parts;
  return namespaces.between(namespace, async () => {
    for (;;) {
      const current = await namespaces.get(namespace);
      const known = current === undefined ? undefined : await storage.sessions.get(current.session_id);
      if (known !== undefined) return known;
      const created = await createSession(storage, { metadata });
      const session = await requireSession(storage, created.session_id);
      if (await namespaces.set(namespace, created.session_id, current?.session_id ?? null)) return session;
      // A request at another server came first.
      await newSessions.discard(created);
    }
  });
}
