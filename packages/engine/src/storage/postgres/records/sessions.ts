import { z } from "zod";
import { clusterDate } from "../../../concurrency/cluster-time.ts";
import { AppError } from "../../../errors/errors.ts";
import { changeOfSession } from "../../changes.ts";
import type { SessionFilter } from "../../overview.ts";
import type { Session } from "../../records.ts";
import { afterMinutes, CountRow, parseRow, readRow, readRows, SessionRow } from "../../rows.ts";
import type { SessionQuery, SessionStore } from "../../storage.ts";
import { asyncCommit, type PostgresDatabase, type Statements, type Values } from "../database/database.ts";
import { isTaken } from "../database/errors.ts";
import { followSession } from "./approvals.ts";
import type { PeerNotifier } from "../notifications/peer-notifier.ts";
import type { ServerLease } from "../servers/lease.ts";
import { withSessionLease } from "./session-lease.ts";
import { keysContaining, shortFilter } from "./containment.ts";

const columns = "session_id, owner, created_at, updated_at, status, metadata, config, interrupts";
const ThreadRow = z.object({ thread_id: z.string() });

const insertSession = `INSERT INTO sessions (${columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`;
const insertWithTtl = `WITH made AS (${insertSession} RETURNING id)
  INSERT INTO session_ttls (session, minutes, strategy, expires_at) SELECT id, $9, $10, $11 FROM made`;

/** `ttl`: its minutes, its strategy and when it is due; empty without one. */
async function insert(statements: Statements, session: Session, ttl: Values): Promise<void> {
  const sql = `${ttl.length === 0 ? insertSession : insertWithTtl} RETURNING ${asyncCommit}`;
  const { session_id, owner, created_at, updated_at, status, metadata, config, interrupts } = session;
  const texts = [metadata, config, interrupts].map((value) => JSON.stringify(value));
  try {
    await statements.rows(sql, [session_id, owner, created_at, updated_at, status, ...texts, ...ttl]);
  } catch (error) {
    if (isTaken(error)) throw new AppError("conflict", `A session "${session_id}" already exists.`);
    throw error;
  }
  statements.recordChanges(changeOfSession("created", session));
}

/** `insert`, and the session's questions with it. */
async function insertWithQuestions(database: PostgresDatabase, session: Session, ttl: Values): Promise<void> {
  if (Object.keys(session.interrupts).length === 0) {
    await insert(database, session, ttl);
    return;
  }
  await database.transaction(async (statements) => {
    await insert(statements, session, ttl);
    await followSession(statements, session);
  }, false);
}

async function change(
  statements: Statements,
  sessionId: string,
  patch: Parameters<SessionStore["update"]>[1],
): Promise<Session | undefined> {
  const [row] = await statements.rows(`SELECT ${columns} FROM sessions WHERE session_id = $1 FOR NO KEY UPDATE`, [
    sessionId,
  ]);
  const session = readRow(SessionRow, "sessions", row);
  if (session === undefined) return undefined;
  const { interrupts } = patch;
  if (interrupts !== undefined) await followSession(statements, { session_id: sessionId, interrupts });
  const next = { ...session, ...patch };
  const metadata = { ...session.metadata, ...patch.metadata };
  const config = { ...session.config, ...patch.config };
  // The runs decide: a session with an unfinished one is busy, whatever status the patch gives.
  const sql = `UPDATE sessions SET metadata = $2, config = $3, interrupts = $4, updated_at = $5, status = CASE WHEN EXISTS (
      SELECT FROM open_runs WHERE session = sessions.id
    ) THEN 'busy' ELSE $6 END WHERE session_id = $1 RETURNING ${columns}`;
  const texts = [metadata, config, next.interrupts].map((value) => JSON.stringify(value));
  const updatedAt = patch.keepsTime === true ? session.updated_at : clusterDate();
  const [written] = await statements.rows(sql, [sessionId, ...texts, updatedAt, next.status]);
  const updated = parseRow(SessionRow, "sessions", written);
  statements.recordChanges(changeOfSession("changed", updated));
  return updated;
}

/** The id of a session's newest state: they are in the order of time. */
const newestState = `(SELECT checkpoint_rows.id FROM checkpoint_threads
  JOIN checkpoint_namespaces ON checkpoint_namespaces.thread = checkpoint_threads.key AND ns = ''
  JOIN checkpoint_rows ON checkpoint_rows.namespace = checkpoint_namespaces.key
  WHERE thread_id = sessions.session_id ORDER BY checkpoint_rows.id DESC LIMIT 1)`;

/** Every way to sort, written out: no name from a client reaches SQL. A date that is not there is the oldest. */
const orders = {
  thread_id: { asc: "session_id ASC", desc: "session_id DESC" },
  status: { asc: "status ASC, session_id ASC", desc: "status DESC, session_id DESC" },
  created_at: { asc: "created_at ASC, id ASC", desc: "created_at DESC, id DESC" },
  updated_at: { asc: "updated_at ASC, id ASC", desc: "updated_at DESC, id DESC" },
  state_updated_at: {
    asc: `${newestState} ASC NULLS FIRST, id ASC`,
    desc: `${newestState} DESC NULLS LAST, id DESC`,
  },
} as const;

/** Which sessions are looked for. */
export type FoundBy = SessionFilter & Pick<SessionQuery, "ids" | "status">;

/** The filter as `sessionClauses` can answer it: of long lists in it, with the ids of the sessions that contain them. */
export async function withFoundIds<Filter extends FoundBy>(database: Statements, filter: Filter): Promise<Filter> {
  const ids = await keysContaining(database, filter.metadata, () => {
    const values: Values[number][] = [];
    const clauses = sessionClauses(filter, (value) => `$${values.push(value)}`);
    return { sql: `SELECT session_id AS key, metadata FROM sessions WHERE ${clauses.join(" AND ")}`, values };
  });
  return ids === undefined ? filter : { ...filter, ids };
}

/**
 * What a search of sessions asks of a row, see `withFoundIds`. `add` takes a value and gives its place in the statement,
 * such as `$3`.
 */
export function sessionClauses(
  { owner, metadata = {}, ids, status }: FoundBy,
  add: (value: Values[number]) => string,
): string[] {
  const clauses: string[] = [];
  if (Object.keys(metadata).length > 0) {
    clauses.push(`millrace_json_v1(sessions.metadata) @> millrace_json_v1(${add(shortFilter(metadata))})`);
  }
  if (ids !== undefined) clauses.push(`sessions.session_id = ANY (${add(ids)}::text[])`);
  if (status !== undefined) clauses.push(`sessions.status = ${add(status)}`);
  if (owner !== undefined) {
    const isOwn = `sessions.owner = ${add(owner.name)}`;
    clauses.push(owner.orphans ? `(${isOwn} OR sessions.owner IS NULL)` : isOwn);
  }
  return clauses;
}

/** What the store of sessions needs. */
interface SessionStoreParts {
  /** That of this server. */
  lease: Pick<ServerLease, "id" | "acknowledged">;
  peers: PeerNotifier;
  /** They get the due date of a session that begins with a time. */
  ttlListeners: readonly ((time: string) => void)[];
}

/**
 * The conversations in PostgreSQL. Neither a new session nor a change of one waits for the disk: the run that comes next
 * takes it along.
 */
export function createSessionStore(
  database: PostgresDatabase,
  { lease, peers, ttlListeners }: SessionStoreParts,
): SessionStore {
  const remove = async (condition: string, sessionId: string): Promise<boolean> => {
    const sql = `WITH gone AS (DELETE FROM sessions WHERE session_id = $1 ${condition} RETURNING ${columns}, ${asyncCommit}),
      states AS (DELETE FROM checkpoint_threads WHERE thread_id IN (SELECT session_id FROM gone))
      SELECT ${columns} FROM gone`;
    const session = readRow(SessionRow, "sessions", (await database.rows(sql, [sessionId]))[0]);
    if (session !== undefined) database.recordChanges(changeOfSession("deleted", session));
    return session !== undefined;
  };
  return {
    async create(session, ttl) {
      const due = ttl ? { ...ttl, expires_at: afterMinutes(Date.parse(session.updated_at), ttl.minutes) } : undefined;
      await insertWithQuestions(database, session, due ? [due.minutes, due.strategy, due.expires_at] : []);
      if (due !== undefined) for (const notify of ttlListeners) notify(due.expires_at);
      return session;
    },

    async get(sessionId) {
      const [row] = await database.read(`SELECT ${columns} FROM sessions WHERE session_id = $1`, [sessionId]);
      return readRow(SessionRow, "sessions", row);
    },

    update: (sessionId, patch) => database.transaction((statements) => change(statements, sessionId, patch), false),

    delete: (sessionId) => remove("", sessionId),

    deleteUnused: (sessionId) => remove("AND NOT EXISTS (SELECT FROM runs WHERE session = sessions.id)", sessionId),

    withLease: (sessionId, work) =>
      lease.acknowledged().then(() => withSessionLease(database, sessionId, work, () => peers.sessionFree(sessionId))),

    async deleteUnfinished() {
      const sql = `DELETE FROM checkpoint_threads
        WHERE NOT EXISTS (SELECT FROM sessions WHERE session_id = thread_id)
          AND NOT EXISTS (SELECT FROM servers WHERE id = maker AND id <> $1) RETURNING thread_id`;
      return readRows(ThreadRow, "checkpoint_threads", await database.rows(sql, [lease.id])).length;
    },

    async search(asked) {
      const query = await withFoundIds(database, asked);
      const values: Values[number][] = [];
      const clauses = sessionClauses(query, (value) => `$${values.push(value)}`);
      const where = clauses.length === 0 ? "" : `WHERE ${clauses.join(" AND ")}`;
      const order = orders[query.sort_by ?? "created_at"][query.sort_order ?? "desc"];
      const page = `LIMIT $${values.length + 1} OFFSET $${values.length + 2}`;
      const [rows, [total]] = await Promise.all([
        database.read(`SELECT ${columns} FROM sessions ${where} ORDER BY ${order} ${page}`, [
          ...values,
          query.limit,
          query.offset,
        ]),
        database.read(`SELECT count(*) AS count FROM sessions ${where}`, values),
      ]);
      return {
        sessions: readRows(SessionRow, "sessions", rows),
        total: parseRow(CountRow, "sessions", total).count,
      };
    },
  };
}
