import { z } from "zod";
import { AppError } from "../../../errors/errors.ts";
import { changeOfSession } from "../../changes.ts";
import { type Session, type JsonObject, Namespace } from "../../records.ts";
import type { SessionQuery, SessionStore, NamespaceStore } from "../../storage.ts";
import { isConstraint, type Database } from "../database/database.ts";
import { readRow, CountRow, parseRow, readRows, SessionRow } from "../../rows.ts";
import { followSession } from "./approvals.ts";
import type { GroupCommit } from "../database/durable.ts";
import { hasUnfinished } from "./run-statements.ts";
import { writeTtl } from "./session-ttls.ts";
import { contains } from "../../items/contains.ts";

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
  database.recordChange?.(changeOfSession("created", session));
}

function change(
  database: Database,
  session: Session,
  { keepsTime = false, ...patch }: Parameters<SessionStore["update"]>[1],
): Session {
  const next: Session = {
    ...session,
    ...patch,
    metadata: { ...session.metadata, ...patch.metadata },
    config: { ...session.config, ...patch.config },
    updated_at: keepsTime ? session.updated_at : new Date().toISOString(),
  };
  // The runs decide: a session with an unfinished one is busy, whatever status the patch gives.
  if (hasUnfinished(database, session.session_id)) next.status = "busy";
  database
    .prepare(
      `UPDATE sessions SET updated_at = @updated_at, status = @status, metadata = @metadata, config = @config,
       interrupts = @interrupts WHERE session_id = @session_id`,
    )
    .run(toRow(next));
  database.recordChange?.(changeOfSession("changed", next));
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
 * inside the transaction that is open. `ttlListeners` get the due date of a session that
 * begins with a time.
 */
export function createSessionStore(
  database: Database,
  commits: GroupCommit,
  ttlListeners: readonly ((time: string) => void)[],
  deleteCheckpoints: (threadId: string) => void,
): SessionStore {
  defineContains(database);
  const remove = (sql: string, sessionId: string): Promise<boolean> =>
    commits.transaction(() => {
      const session = database.recordChange && find(database, sessionId);
      const { changes } = database.prepare(sql).run(sessionId);
      if (changes > 0) deleteCheckpoints(sessionId);
      if (changes > 0 && session !== undefined) database.recordChange?.(changeOfSession("deleted", session));
      return changes > 0;
    });
  return {
    async create(session, ttl) {
      const written = await commits.transaction(() => {
        insert(database, session);
        followSession(database, session);
        return ttl ? writeTtl(database, session.session_id, ttl, Date.parse(session.updated_at)) : undefined;
      });
      if (written !== undefined) for (const notify of ttlListeners) notify(written.expires_at);
      return session;
    },

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

/** The id of a session's newest state: they are in the order of time. */
const newestState = `(SELECT max(checkpoint_rows.id) FROM checkpoint_threads
  JOIN checkpoint_namespaces ON checkpoint_namespaces.thread = checkpoint_threads.key AND ns = ''
  JOIN checkpoint_rows ON checkpoint_rows.namespace = checkpoint_namespaces.key
  WHERE thread_id = sessions.session_id)`;

/** Every way to sort, written out: the statements stay a fixed set and no name from a client reaches SQL. */
const orders = {
  thread_id: { asc: "session_id ASC", desc: "session_id DESC" },
  status: { asc: "status ASC, session_id ASC", desc: "status DESC, session_id DESC" },
  created_at: { asc: "created_at ASC, id ASC", desc: "created_at DESC, id DESC" },
  updated_at: { asc: "updated_at ASC, id ASC", desc: "updated_at DESC, id DESC" },
  state_updated_at: { asc: `${newestState} ASC, id ASC`, desc: `${newestState} DESC, id DESC` },
} as const;

/** The order a query asks for, as SQL; newest first by default. */
export function searchOrder(query: SessionQuery): string {
  return orders[query.sort_by ?? "created_at"][query.sort_order ?? "desc"];
}

/** How many entries of a metadata filter SQLite compares by itself; few, so that the statements stay a small set. */
const plainEntries = 3;

/** Keys of the metadata that have an index of their own, with what stands in it: SQLite uses it for these very words. */
const indexed = new Map([["background_of", "CASE WHEN json_valid(metadata) THEN metadata ->> '$.background_of' END"]]);

/** Whether SQLite's JSON compares this text as JavaScript does: no broken surrogates, no zero that ends it early. */
function isPlain(text: unknown): text is string {
  return typeof text === "string" && text.isWellFormed() && !text.includes("\0");
}

/**
 * The condition for a metadata filter. Texts at the top level (`graph_id`, an owner) are compared by SQLite, which is
 * three times as fast over 10,000 sessions; the rest by `json_contains`.
 */
function metadataCondition(filter: JsonObject): { clauses: string[]; parameters: Record<string, string> } {
  const clauses: string[] = [];
  const parameters: Record<string, string> = {};
  const rest: [string, unknown][] = [];
  for (const [key, value] of Object.entries(filter)) {
    const place = clauses.length;
    if (place === plainEntries || !isPlain(key) || !isPlain(value)) {
      rest.push([key, value]);
      continue;
    }
    const ofIndex = indexed.get(key);
    const isThere = `EXISTS (SELECT 1 FROM json_each(metadata) WHERE key = @key${place} AND atom = @value${place})`;
    // By the index alone the text of an object would be taken for a text.
    clauses.push(ofIndex === undefined ? isThere : `(${ofIndex} = @value${place} AND ${isThere})`);
    parameters[`key${place}`] = key;
    parameters[`value${place}`] = value;
  }
  if (rest.length > 0) {
    clauses.push("json_contains(metadata, @metadata) = 1");
    parameters["metadata"] = JSON.stringify(Object.fromEntries(rest));
  }
  return { clauses, parameters };
}

/** The rows' condition for a query and its parameters. Only what is asked for is in it, so that the indexes serve. */
export function searchCondition(query: SessionQuery): { where: string; parameters: Record<string, string> } {
  const { clauses, parameters } = metadataCondition(query.metadata ?? {});
  if (query.ids !== undefined) {
    clauses.push("session_id IN (SELECT value FROM json_each(@ids))");
    parameters["ids"] = JSON.stringify(query.ids);
  }
  if (query.status !== undefined) {
    clauses.push("status = @status");
    parameters["status"] = query.status;
  }
  if (query.owner !== undefined) {
    clauses.push(query.owner.orphans ? "(owner = @owner OR owner IS NULL)" : "owner = @owner");
    parameters["owner"] = query.owner.name;
  }
  return { where: clauses.length === 0 ? "" : `WHERE ${clauses.join(" AND ")}`, parameters };
}

/**
 * Makes `json_contains(value, filter)` known to SQLite: 1 when the JSON text `value` contains `filter`. A query has one
 * filter for all rows, so its last parse is kept.
 */
function defineContains(database: Database): void {
  let lastText = "";
  let lastFilter: unknown;
  database.raw.function("json_contains", { deterministic: true }, (value: unknown, filter: unknown) => {
    if (typeof value !== "string" || typeof filter !== "string") return 0;
    if (filter !== lastText) {
      lastFilter = JSON.parse(filter);
      lastText = filter;
    }
    return contains(JSON.parse(value), lastFilter) ? 1 : 0;
  });
}

const select = `SELECT namespace, sessions.session_id, namespaces.updated_at FROM namespaces
  JOIN sessions ON sessions.id = namespaces.session`;

/** The current session of each namespace in SQLite. */
export function createNamespaceStore(database: Database, commits: GroupCommit): NamespaceStore {
  return {
    get: async (owner, namespace) =>
      database.read(() =>
        readRow(
          Namespace,
          "namespaces",
          database.prepare(`${select} WHERE namespaces.owner = ? AND namespace = ?`).get(owner, namespace),
        ),
      ),

    list: async (owner) =>
      database.read(() =>
        readRows(
          Namespace,
          "namespaces",
          database.prepare(`${select} WHERE namespaces.owner = ? ORDER BY namespace`).all(owner),
        ),
      ),

    set: (owner, namespace, session_id, former) =>
      commits.transaction(() => {
        const { changes } = database
          .prepare(
            `INSERT INTO namespaces (owner, namespace, session, updated_at)
             SELECT @owner, @namespace, id, @updated_at FROM sessions WHERE session_id = @session_id
             ON CONFLICT (owner, namespace) DO UPDATE SET session = excluded.session, updated_at = excluded.updated_at
               WHERE @is_any OR namespaces.session = (SELECT id FROM sessions WHERE session_id = @former)`,
          )
          .run({
            owner,
            namespace,
            session_id,
            updated_at: new Date().toISOString(),
            is_any: former === undefined ? 1 : 0,
            former: former ?? null,
          });
        return changes > 0;
      }),
  };
}
