import { z } from "zod";
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
import { type Approval, type OperationRecord, RunStatus } from "../../records.ts";
import { ApprovalRow, CountRow, json, OperationRow, parseRow, readRows } from "../../rows.ts";
import { Usage } from "../../usage.ts";
import type { Statements } from "../database/database.ts";
import { operationColumns } from "../run-records/operations.ts";
import { runColumns, StoredRun } from "../run-records/run-rows.ts";
import { approvalColumns } from "./approvals.ts";
import { usageOfRun } from "./usage.ts";
import { type FoundBy, sessionClauses, withFoundIds } from "./sessions.ts";

/** The conditions of a statement, with their values. */
class Conditions {
  readonly values: Parameters<Parameters<typeof sessionClauses>[1]>[0][] = [];
  readonly #clauses: string[] = [];

  /** Those that a row of `table` hangs on one of the sessions. */
  constructor(table: "runs" | "approvals" | "operations", sessions: FoundBy) {
    const clauses = sessionClauses(sessions, (value) => this.value(value));
    if (clauses.length === 0) return;
    this.and(`EXISTS (SELECT FROM sessions WHERE sessions.id = ${table}.session AND ${clauses.join(" AND ")})`);
  }

  /** The place of a value in the statement. */
  readonly value = (value: Parameters<Parameters<typeof sessionClauses>[1]>[0]): string =>
    `$${this.values.push(value)}`;

  and(clause: string): void {
    this.#clauses.push(clause);
  }

  /** A clause with a value, where there is one. */
  with(value: string | undefined, clause: (place: string) => string): void {
    if (value !== undefined) this.and(clause(this.value(value)));
  }

  get where(): string {
    return this.#clauses.length === 0 ? "" : `WHERE ${this.#clauses.join(" AND ")}`;
  }
}

/** That a field of a JSON column is a text; the place holds it as JSON. */
function hasText(column: string, field: string): (place: string) => string {
  return (place) => `millrace_json_v1(${column}) -> '${field}' = millrace_json_v1(${place})`;
}

function jsonText(value: string | undefined): string | undefined {
  return value === undefined ? undefined : JSON.stringify(value);
}

const ofSession = (place: string): string => `session = (SELECT id FROM sessions WHERE session_id = ${place})`;

async function findApprovals(database: Statements, query: ApprovalQuery): Promise<PageOf<Approval>> {
  const conditions = new Conditions("approvals", await withFoundIds(database, query.sessions));
  const isOldestFirst = query.state === "pending";
  // Written out, or the partial index is not used.
  if (isOldestFirst) conditions.and("state = 'pending'");
  else conditions.with(query.state, (place) => `state = ${place}`);
  conditions.with(query.session_id, ofSession);
  conditions.with(
    jsonText(query.graph_id),
    (place) => `EXISTS (SELECT FROM sessions WHERE sessions.id = approvals.session
      AND ${hasText("sessions.metadata", "graph_id")(place)})`,
  );
  if (query.cursor !== undefined) {
    const [at, key] = readCursor(query.cursor).map(conditions.value);
    conditions.and(`(asked_at, approvals.id) ${isOldestFirst ? ">" : "<"} (${at}, ${key})`);
  }
  const order = isOldestFirst ? "asked_at, approvals.id" : "asked_at DESC, approvals.id DESC";
  const sql = `SELECT ${approvalColumns}, approvals.id AS key FROM approvals ${conditions.where}
    ORDER BY ${order} LIMIT ${conditions.value(query.limit + 1)}`;
  const found = await database.read(sql, conditions.values);
  return pageOf(found, readRows(ApprovalRow, "approvals", found), query.limit, ({ asked_at }) => asked_at);
}

async function runConditions(database: Statements, query: Omit<RunQuery, "limit">): Promise<Conditions> {
  const conditions = new Conditions("runs", await withFoundIds(database, query.sessions));
  conditions.with(query.session_id, ofSession);
  conditions.with(query.graph_id, (place) => `runs.graph_id = ${place}`);
  conditions.with(query.assistant_id, (place) => `runs.assistant_id = ${place}`);
  conditions.with(query.run_id, (place) => `runs.run_id = ${place}`);
  conditions.with(query.status, (place) => `runs.status = ${place}`);
  conditions.with(jsonText(query.cron_id), hasText("runs.metadata", "cron_id"));
  conditions.with(query.from, (place) => `runs.created_at >= ${place}`);
  conditions.with(query.to, (place) => `runs.created_at < ${place}`);
  conditions.with(jsonText(query.error), hasText("runs.error", "error"));
  if (query.cursor !== undefined) {
    const [at, key] = readCursor(query.cursor).map(conditions.value);
    conditions.and(`(runs.created_at, runs.id) < (${at}, ${key})`);
  }
  return conditions;
}

async function findRuns(database: Statements, query: RunQuery): Promise<PageOf<ListedRun>> {
  const conditions = await runConditions(database, query);
  const sql = `SELECT ${runColumns}, ${usageOfRun} AS usage, runs.id AS key FROM runs ${conditions.where}
    ORDER BY runs.created_at DESC, runs.id DESC LIMIT ${conditions.value(query.limit + 1)}`;
  const found = await database.read(sql, conditions.values);
  return pageOf(found, readRows(ListedRunRow, "runs", found), query.limit, ({ created_at }) => created_at);
}

async function findOperations(database: Statements, query: OperationQuery): Promise<PageOf<OperationRecord>> {
  const conditions = new Conditions("operations", await withFoundIds(database, query.sessions));
  conditions.with(query.session_id, ofSession);
  conditions.with(query.run_id, (place) => `run_id = ${place}`);
  conditions.with(jsonText(query.path), (place) => {
    const fields = ["path", "from", "to"].map((field) => hasText("change", field)(place));
    return `(${fields.join(" OR ")})`;
  });
  if (query.cursor !== undefined) {
    const [at, key] = readCursor(query.cursor).map(conditions.value);
    conditions.and(`(created_at, operations.id) < (${at}, ${key})`);
  }
  const sql = `SELECT ${operationColumns}, operations.id AS key FROM operations ${conditions.where}
    ORDER BY created_at DESC, operations.id DESC LIMIT ${conditions.value(query.limit + 1)}`;
  const found = await database.read(sql, conditions.values);
  return pageOf(found, readRows(OperationRow, "operations", found), query.limit, ({ created_at }) => created_at);
}

const ListedRunRow = StoredRun.extend({ usage: json(Usage).nullable() });
const BucketRow = z.object({ at: z.number(), status: RunStatus, count: z.number() });

/** What a look over all sessions finds in PostgreSQL. */
export function createOverviewStore(database: Statements): OverviewStore {
  const count = async (table: "runs" | "approvals", condition: string, sessions: SessionFilter): Promise<number> => {
    const conditions = new Conditions(table, await withFoundIds(database, sessions));
    conditions.and(condition);
    const sql = `SELECT count(*) AS count FROM ${table} ${conditions.where}`;
    const [row] = await database.read(sql, conditions.values);
    return parseRow(CountRow, table, row).count;
  };
  return {
    approvals: (query) => findApprovals(database, query),
    waiting: (sessions) => count("approvals", "state = 'pending'", sessions),
    working: (sessions) => count("runs", "runs.id IN (SELECT run FROM open_runs)", sessions),
    runs: (query) => findRuns(database, query),
    operations: (query) => findOperations(database, query),
    async histogram({ seconds, ...query }) {
      const conditions = await runConditions(database, query);
      const span = `${conditions.value(seconds)}::bigint`;
      const sql = `SELECT floor(extract(epoch FROM runs.created_at::timestamptz))::bigint / ${span} * ${span} AS at,
          runs.status, count(*) AS count
        FROM runs ${conditions.where} GROUP BY 1, 2 ORDER BY 1, 2`;
      const rows = readRows(BucketRow, "runs", await database.read(sql, conditions.values));
      return rows.map(({ at, ...row }) => ({ at: new Date(at * 1000).toISOString(), ...row }));
    },
  };
}
