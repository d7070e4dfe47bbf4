import { setImmediate as nextTurn } from "node:timers/promises";
import type { SessionQuery } from "@millrace/engine/storage/storage";
import { messagesIn } from "@millrace/engine/sessions/messages/conversation";
import type { SessionStorage } from "@millrace/engine/sessions/scope/session-storage";
import { toInfo, type SessionInfo } from "./info.ts";
import { wordsOf } from "@millrace/engine/sessions/messages/message-fields";
import { readValues } from "@millrace/engine/sessions/sessions";
import { isHidden } from "@millrace/engine/sessions/messages/stored-message";

/** Sessions read at once. */
const batchSize = 20;
/** Sessions that one request looks through at most; then it says where the next one goes on. */
const lookedAt = 500;

/** Which sessions a list wants. `text` is looked for in names, descriptions and what was said, in any case. */
export interface FindSessions extends Omit<SessionQuery, "owner" | "limit" | "offset"> {
  text?: string | undefined;
  limit: number;
  /** Where an earlier answer said that the list goes on; default the beginning. */
  cursor: number;
}

/** One page of a list; `next` is where it goes on, `null` at its end. A page may be short of `limit` and go on. */
export interface FoundSessions {
  sessions: SessionInfo[];
  next: number | null;
}

/**
 * A page of sessions, the last changed ones first. A text is looked for by reading sessions in small batches, so that
 * others are served meanwhile, and a bounded number a request. Ends early when the signal aborts.
 */
export async function findSessions(
  storage: SessionStorage,
  { text, limit, cursor, ...query }: FindSessions,
  signal: AbortSignal,
): Promise<FoundSessions> {
  const wanted = text === undefined || text.trim() === "" ? undefined : folded(text.trim());
  const sessions: SessionInfo[] = [];
  let at = cursor;
  while (at < cursor + lookedAt) {
    signal.throwIfAborted();
    const size = wanted === undefined ? Math.min(batchSize, limit - sessions.length) : batchSize;
    const page = await storage.sessions.search({
      sort_by: "updated_at",
      ...query,
      limit: size,
      offset: at,
    });
    for (const session of page.sessions) {
      const values = await readValues(storage, session.session_id);
      at += 1;
      const info = toInfo(session, values);
      if (wanted === undefined || mentions(info, values, wanted)) sessions.push(info);
      if (sessions.length === limit) return { sessions, next: at < page.total ? at : null };
      // A long session is read in one piece.
      await nextTurn();
    }
    if (page.sessions.length < size || at >= page.total) return { sessions, next: null };
  }
  return { sessions, next: at };
}

function mentions(info: SessionInfo, values: unknown, wanted: string): boolean {
  if (folded(info.name).includes(wanted) || folded(info.description ?? "").includes(wanted)) return true;
  return messagesIn(values).some((message) => !isHidden(message) && folded(wordsOf(message)).includes(wanted));
}

/** A text as it is compared: without differences of case and of how a character is written. */
function folded(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}
