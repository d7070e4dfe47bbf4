import { AppError } from "../../errors/errors.ts";
import type { Storage } from "../../storage/storage.ts";
import type { SessionStorage } from "./session-storage.ts";
import { guardedSession, type Guard } from "./guard.ts";

/** What a caller may do with what hangs on a session. Who owns a session may do both; the rules of `auth.path` may part them. */
export interface Access {
  sees: (sessionId: string) => Promise<boolean>;
  /** Asked before anything is written. */
  mayChange: (sessionId: string) => Promise<boolean>;
}

/** What the caller may do whose `sessions` these are. */
export function accessTo(
  sessions: Pick<SessionStorage["sessions"], "get">,
  storage: Pick<Storage, "sessions">,
  guard: Guard | undefined,
): Access {
  const sees = async (id: string): Promise<boolean> => (await sessions.get(id)) !== undefined;
  if (guard === undefined) return { sees, mayChange: sees };
  return { sees, mayChange: async (id) => (await guardedSession(storage, guard, id, "threads:update")) !== undefined };
}

/** Throws `not_found` where the answer is no: what a caller may not do is told as of what does not exist. */
export async function requireAccess(isAllowed: Promise<boolean>, sessionId: string): Promise<void> {
  if (!(await isAllowed)) throw noSession(sessionId);
}

/** What is said of a session that does not exist, or not for the caller. */
export function noSession(sessionId: string): AppError {
  return new AppError("not_found", `Thread with ID ${sessionId} not found`);
}
