import { z } from "zod";
import { type OperationRecord, RunStatus } from "../../records.ts";
import {
  type ApprovalQuery,
  type ListedRun,
  type OperationQuery,
  type OverviewStore,
  type PageOf,
  pageOf,
  readCursor,
  type RunQuery,
  type SessionFilter,
} from "../../overview.ts";
import type { Database } from "../database/database.ts";
import { ApprovalRow, CountRow, ListedRunRow, OperationRow, parseRow, readRows } from "../../rows.ts";
import { approvalColumns } from "./approvals.ts";
import { operationColumns } from "./operations.ts";
import { isUnfinished, runColumns } from "./run-statements.ts";
import { searchCondition } from "./sessions.ts";
import { usageOfRun } from "./usage.ts";

type Parameters = Record<string, string | number>;

/** The condition that a row of `table` hangs on one of the sessions. */
function ofSessions(
  table: "runs" | "approvals" | "operations",
  filter: SessionFilter,
): { clauses: string[]; parameters: Parameters } {
  const { where, parameters } = searchCondition({ ...filter, limit: 0, offset: 0 });
  if (where === "") return { clauses: [], parameters };
  const session = `SELECT 1 FROM sessions ${where} AND sessions.id = ${table}.session`;
  return { clauses: [`EXISTS (${session})`], parameters };
}

function findApprovals(database: Database, query: ApprovalQuery): PageOf<z.infer<typeof ApprovalRow>> {
  const { clauses, parameters } = ofSessions("approvals", query.sessions);
  clauses.push(query.state === "pending" ? "state = 'pending'" : "state = @state");
  if (query.state !== "pending") parameters["state"] = query.state;
  const isOldestFirst = query.state === "pending";
  if (query.session_id !== undefined) {
    clauses.push("session = (SELECT id FROM sessions WHERE session_id = @session_id)");
    parameters["session_id"] = query.session_id;
  }
  if (query.graph_id !== undefined) {
    clauses.push("(SELECT metadata ->> '$.graph_id' FROM sessions WHERE sessions.id = approvals.session) = @graph_id");
    parameters["graph_id"] = query.graph_id;
  }
  if (query.cursor !== undefined) {
    clauses.push(`(asked_at, approvals.id) ${isOldestFirst ? ">" : "<"} (@cursor_at, @cursor_key)`);
    [parameters["cursor_at"], parameters["cursor_key"]] = readCursor(query.cursor);
  }
  const order = isOldestFirst ? "asked_at, approvals.id" : "asked_at DESC, approvals.id DESC";
  const sql = `SELECT ${approvalColumns}, approvals.id AS key FROM approvals WHERE ${clauses.join(" AND ")}
    ORDER BY ${order} LIMIT @limit`;
  const found = database.prepare(sql).all({ ...parameters, limit: query.limit + 1 });
  return pageOf(found, readRows(ApprovalRow, "approvals", found), query.limit, ({ asked_at }) => asked_at);
}

function runCondition(query: Omit<RunQuery, "limit">): { where: string; parameters: Parameters } {
  const { clauses, parameters } = ofSessions("runs", query.sessions);
  const filters = {
    session_id: "session = (SELECT id FROM sessions WHERE session_id = @session_id)",
    graph_id: "graph_id = @graph_id",
    assistant_id: "assistant_id = @assistant_id",
    run_id: "runs.run_id = @run_id",
    run_status: "runs.status = @run_status",
    cron_id: "runs.metadata ->> '$.cron_id' = @cron_id",
    from: "runs.created_at >= @from",
    to: "runs.created_at < @to",
    error: "runs.error ->> '$.error' = @error",
  };
  const values = { ...query, run_status: query.status };
  for (const [name, clause] of Object.entries(filters)) {
    // The names are those of the object above.
    const value = values[name as keyof typeof filters];
    if (value === undefined) continue;
    clauses.push(clause);
    parameters[name] = value;
  }
  if (query.cursor !== undefined) {
    clauses.push("(runs.created_at, runs.id) < (@cursor_at, @cursor_key)");
    [parameters["cursor_at"], parameters["cursor_key"]] = readCursor(query.cursor);
  }
  return { where: clauses.length === 0 ? "" : `WHERE ${clauses.join(" AND ")}`, parameters };
}

function findRuns(database: Database, query: RunQuery): PageOf<ListedRun> {
  const { where, parameters } = runCondition(query);
  const sql = `SELECT ${runColumns}, ${usageOfRun} AS usage, runs.id AS key FROM runs ${where}
    ORDER BY runs.created_at DESC, runs.id DESC LIMIT @limit`;
  const found = database.prepare(sql).all({ ...parameters, limit: query.limit + 1 });
  return pageOf(found, readRows(ListedRunRow, "runs", found), query.limit, ({ created_at }) => created_at);
}

function findOperations(database: Database, query: OperationQuery): PageOf<OperationRecord> {
  const { clauses, parameters } = ofSessions("operations", query.sessions);
  const filters = {
    session_id: "sessions.session_id = @session_id",
    run_id: "run_id = @run_id",
    // As their indexes have them.
    path: "(change ->> '$.path' = @path OR change ->> '$.from' = @path OR change ->> '$.to' = @path)",
  };
  for (const [name, clause] of Object.entries(filters)) {
    // The names are those of the object above.
    const value = query[name as keyof typeof filters];
    if (value === undefined) continue;
    clauses.push(clause);
    parameters[name] = value;
  }
  if (query.cursor !== undefined) {
    clauses.push("(operations.created_at, operations.id) < (@cursor_at, @cursor_key)");
    [parameters["cursor_at"], parameters["cursor_key"]] = readCursor(query.cursor);
  }
  const where = clauses.length === 0 ? "" : `WHERE ${clauses.join(" AND ")}`;
  const sql = `SELECT ${operationColumns}, operations.id AS key
    FROM operations JOIN sessions ON sessions.id = operations.session ${where}
    ORDER BY operations.created_at DESC, operations.id DESC LIMIT @limit`;
  const found = database.prepare(sql).all({ ...parameters, limit: query.limit + 1 });
  return pageOf(found, readRows(OperationRow, "operations", found), query.limit, ({ created_at }) => created_at);
}

const BucketRow = z.object({ at: z.number(), status: RunStatus, count: z.number() });

/** What a look over all sessions finds in SQLite. */
export function createOverviewStore(database: Database): OverviewStore {
  const count = (table: "runs" | "approvals", condition: string, sessions: SessionFilter): number => {
    const { clauses, parameters } = ofSessions(table, sessions);
    const sql = `SELECT count(*) AS count FROM ${table} WHERE ${[condition, ...clauses].join(" AND ")}`;
    return parseRow(CountRow, table, database.prepare(sql).get(parameters)).count;
  };
  return {
    approvals: async (query) => database.read(() => findApprovals(database, query)),
    waiting: async (sessions) => database.read(() => count("approvals", "state = 'pending'", sessions)),
    working: async (sessions) => database.read(() => count("runs", isUnfinished, sessions)),
    runs: async (query) => database.read(() => findRuns(database, query)),
    operations: async (query) => database.read(() => findOperations(database, query)),
    histogram: async ({ seconds, ...query }) =>
      database.read(() => {
        const { where, parameters } = runCondition(query);
        const sql = `SELECT unixepoch(runs.created_at) / CAST(@seconds AS INTEGER) * CAST(@seconds AS INTEGER) AS at, runs.status, count(*) AS count FROM runs
          ${where} GROUP BY 1, 2 ORDER BY 1, 2`;
        const rows = readRows(BucketRow, "runs", database.prepare(sql).all({ ...parameters, seconds }));
        return rows.map(({ at, ...row }) => ({ at: new Date(at * 1000).toISOString(), ...row }));
      }),
  };
}
