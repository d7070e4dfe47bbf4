import { z } from "zod";
import { AppError } from "../../../errors/errors.ts";
import type { Change } from "../../changes.ts";
import type { Session } from "../../records.ts";
import type { SessionQuery, SessionStore } from "../../storage.ts";
import { followSession } from "./approvals.ts";
import { isConstraint, type Database } from "../database/database.ts";
import type { GroupCommit } from "../database/durable.ts";
import { hasUnfinished } from "./run-rows.ts";
import { CountRow, parseRow, readRow, readRows, SessionRow } from "../database/rows.ts";
import { defineContains, searchCondition, searchOrder } from "./session-search.ts";

const ThreadRow = z.object({ thread_id: z.string() });

const columns = "session_id, owner, created_at, updated_at, status, metadata, config, interrupts";

function toRow(session: Session) {
  return {
    ...session,
    metadata: JSON.stringify(session.metadata),
    config: JSON.stringify(session.config),
    interrupts: JSON.stringify(session.interrupts),
  };
}

function find(database: Database, sessionId: string): Session | undefined {
  const row = database.prepare(`SELECT ${columns} FROM sessions WHERE session_id = ?`).get(sessionId);
  return readRow(SessionRow, "sessions", row);
}

function insert(database: Database, session: Session): void {
  const values = "@session_id, @owner, @created_at, @updated_at, @status, @metadata, @config, @interrupts";
  try {
    database.prepare(`INSERT INTO sessions (${columns}) VALUES (${values})`).run(toRow(session));
  } catch (error) {
    if (isConstraint(error)) throw new AppError("conflict", `A session "${session.session_id}" already exists.`);
    throw error;
  }
  database.note?.(changeOf("created", session));
}

function changeOf(what: Change["what"], session: Session): Change {
  const { session_id, status, metadata, created_at, updated_at } = session;
  const patch = { status, metadata, created_at, updated_at };
  return { type: "thread", what, id: session_id, session_id, patch, ...(what === "deleted" && { session }) };
}

function change(database: Database, session: Session, patch: Parameters<SessionStore["update"]>[1]): Session {
  const next: Session = {
    ...session,
    ...patch,
    metadata: { ...session.metadata, ...patch.metadata },
    config: { ...session.config, ...patch.config },
    updated_at: new Date().toISOString(),
  };
  // The runs decide: a session with one that is not over is busy, whatever somebody has found it to be.
  if (hasUnfinished(database, session.session_id)) next.status = "busy";
  database
    .prepare(
      `UPDATE sessions SET updated_at = @updated_at, status = @status, metadata = @metadata, config = @config,
       interrupts = @interrupts WHERE session_id = @session_id`,
    )
    .run(toRow(next));
  database.note?.(changeOf("changed", next));
  return next;
}

function search(database: Database, query: SessionQuery): { sessions: Session[]; total: number } {
  const { where, parameters } = searchCondition(query);
  const rows = database
    .prepare(`SELECT ${columns} FROM sessions ${where} ORDER BY ${searchOrder(query)} LIMIT @limit OFFSET @offset`)
    .all({ ...parameters, limit: query.limit, offset: query.offset });
  const total = database.prepare(`SELECT count(*) AS count FROM sessions ${where}`).get(parameters);
  return {
    sessions: readRows(SessionRow, "sessions", rows),
    total: parseRow(CountRow, "sessions", total).count,
  };
}

/**
 * The conversations in SQLite. `deleteCheckpoints` removes what the checkpointer keeps of a thread, synchronously and
 * inside the transaction that is open.
 */
export function createSessionStore(
  database: Database,
  commits: GroupCommit,
  deleteCheckpoints: (threadId: string) => void,
): SessionStore {
  defineContains(database);
  const remove = (sql: string, sessionId: string): Promise<boolean> =>
    commits.transaction(() => {
      const session = database.note && find(database, sessionId);
      const { changes } = database.prepare(sql).run(sessionId);
      if (changes > 0) deleteCheckpoints(sessionId);
      if (changes > 0 && session !== undefined) database.note?.(changeOf("deleted", session));
      return changes > 0;
    });
  return {
    create: (session) =>
      commits.transaction(() => {
        insert(database, session);
        followSession(database, session);
        return session;
      }),

    get: async (sessionId) => database.read(() => find(database, sessionId)),

    update: (sessionId, patch) =>
      commits.transaction(() => {
        const session = find(database, sessionId);
        if (session === undefined) return undefined;
        if (patch.interrupts !== undefined) {
          followSession(database, { session_id: sessionId, interrupts: patch.interrupts });
        }
        return change(database, session, patch);
      }),

    delete: (sessionId) => remove("DELETE FROM sessions WHERE session_id = ?", sessionId),

    deleteUnused: (sessionId) =>
      remove(
        "DELETE FROM sessions WHERE session_id = ? AND NOT EXISTS (SELECT 1 FROM runs WHERE session = sessions.id)",
        sessionId,
      ),

    deleteUnfinished: () =>
      commits.transaction(() => {
        const rows = database
          .prepare("SELECT thread_id FROM checkpoint_threads WHERE thread_id NOT IN (SELECT session_id FROM sessions)")
          .all();
        const unfinished = readRows(ThreadRow, "checkpoint_threads", rows);
        for (const { thread_id } of unfinished) deleteCheckpoints(thread_id);
        return unfinished.length;
      }),

    search: async (query) => database.read(() => search(database, query)),
  };
}
