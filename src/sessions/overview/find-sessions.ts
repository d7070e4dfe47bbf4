import { setImmediate as nextTurn } from "node:timers/promises";
import type { SessionQuery } from "@millrace/engine/storage/storage";
import { messagesIn } from "@millrace/engine/sessions/messages/conversation";
import type { SessionStorage } from "@millrace/engine/sessions/scope/session-storage";
import { toInfo, type SessionInfo } from "./info.ts";
import { readValues } from "@millrace/engine/sessions/sessions";
import { folded, newestHits, type Hit } from "../messages/find-words.ts";

/** Sessions read at once. */
const batchSize = 20;
/** Sessions scanned per request; the response has a cursor for the next one. */
const lookedAt = 500;

/** Filter of a session list. `text` matches names, descriptions and messages, ignoring case. */
export interface FindSessions extends Omit<SessionQuery, "owner" | "limit" | "offset"> {
  text?: string | undefined;
  limit: number;
  /** Only those that are archived, or only those that are not. */
  archived?: boolean | undefined;
  /** Only those that are pinned, or only those that are not. */
  pinned?: boolean | undefined;
  /** The cursor of an earlier response; default the beginning. */
  cursor: number;
}

/** A session of a list, and where the text was found in it; empty where it is in its name or description alone. */
export type FoundSession = SessionInfo & { hits: Hit[] };

/** Hits shown per session. */
const maxHits = 3;

/** One page of a list; `next` is where it goes on, `null` at its end. A page may be short of `limit` and go on. */
export interface FoundSessions {
  sessions: FoundSession[];
  next: number | null;
}

/**
 * A page of sessions, most recently changed first. Text search reads sessions in small batches, so that other requests
 * are served, up to a limit per request. Ends early when the signal aborts.
 */
export async function findSessions(
  storage: SessionStorage,
  { text, limit, cursor, archived, pinned, ...query }: FindSessions,
  signal: AbortSignal,
): Promise<FoundSessions> {
  const wanted = text === undefined || text.trim() === "" ? undefined : folded(text.trim());
  const sessions: FoundSession[] = [];
  let at = cursor;
  while (at < cursor + lookedAt) {
    signal.throwIfAborted();
    const isPlain = wanted === undefined && archived === undefined && pinned === undefined;
    const size = isPlain ? Math.min(batchSize, limit - sessions.length) : batchSize;
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
      const found = foundIn(info, values, { wanted, archived, pinned });
      if (found !== undefined) sessions.push(found);
      if (sessions.length === limit) return { sessions, next: at < page.total ? at : null };
      // A long session is read in one piece.
      await nextTurn();
    }
    if (page.sessions.length < size || at >= page.total) return { sessions, next: null };
  }
  return { sessions, next: at };
}

/** The session with its hits; `undefined` if it does not match. */
function foundIn(
  info: SessionInfo,
  values: unknown,
  { wanted, archived, pinned }: Pick<FindSessions, "archived" | "pinned"> & { wanted: string | undefined },
): FoundSession | undefined {
  if ((archived ?? info.archived) !== info.archived || (pinned ?? info.pinned) !== info.pinned) return undefined;
  if (wanted === undefined) return { ...info, hits: [] };
  const hits = newestHits(messagesIn(values), wanted, maxHits);
  return hits.length > 0 || isNamed(info, wanted) ? { ...info, hits } : undefined;
}

function isNamed({ name, description }: SessionInfo, wanted: string): boolean {
  return folded(name).includes(wanted) || folded(description ?? "").includes(wanted);
}
