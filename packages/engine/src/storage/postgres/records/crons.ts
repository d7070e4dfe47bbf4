import { z } from "zod";
import { clusterDate } from "../../../concurrency/cluster-time.ts";
import { AppError } from "../../../errors/errors.ts";
import type { Cron, CronQuery, CronStore } from "../../record-stores.ts";
import { CountRow, CronRow, parseRow, readRow, readRows } from "../../rows.ts";
import type { PostgresDatabase, Values } from "../database/database.ts";
import { keysContaining, shortFilter } from "./containment.ts";

const DateRow = z.object({ next_run_date: z.string().nullable() });

const columns = `cron_id, owner, assistant_id, schedule, timezone, end_time, payload, metadata, enabled, on_run_completed,
  next_run_date, created_at, updated_at`;
const select = `SELECT ${columns}, (SELECT session_id FROM sessions WHERE sessions.id = crons.session) AS session_id
  FROM crons`;

/** Every way to sort, written out: no name from a client reaches SQL. */
const orders = {
  cron_id: "cron_id",
  assistant_id: "assistant_id",
  thread_id: "session_id",
  created_at: "created_at",
  updated_at: "updated_at",
  next_run_date: "next_run_date",
} as const;

const insert = `INSERT INTO crons (session, cron_id, owner, assistant_id, schedule, timezone, end_time, payload, metadata,
    enabled, on_run_completed, next_run_date, created_at, updated_at)
  SELECT (SELECT id FROM sessions WHERE session_id = $1), $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14
  WHERE $1::text IS NULL OR EXISTS (SELECT FROM sessions WHERE session_id = $1)`;

const update = `UPDATE crons SET assistant_id = $2, schedule = $3, timezone = $4, end_time = $5, payload = $6,
  metadata = $7, enabled = $8, on_run_completed = $9, next_run_date = $10, updated_at = $11 WHERE cron_id = $1`;

/** The columns that a change may set, in their order. */
function valuesOf(cron: Cron): (string | number | null)[] {
  const { assistant_id, schedule, timezone, end_time, payload, metadata, enabled } = cron;
  const texts = [JSON.stringify(payload), JSON.stringify(metadata)];
  const times = [cron.on_run_completed, cron.next_run_date];
  return [assistant_id, schedule, timezone, end_time, ...texts, Number(enabled), ...times];
}

function clausesOf(query: CronQuery, add: (value: Values[number]) => string): string[] {
  const { owner, assistant_id, session_id, enabled, metadata = {} } = query;
  const clauses: string[] = [];
  if (owner !== undefined) {
    const isOwn = `owner = ${add(owner.name)}`;
    clauses.push(owner.orphans ? `(${isOwn} OR owner IS NULL)` : isOwn);
  }
  if (assistant_id !== undefined) clauses.push(`assistant_id = ${add(assistant_id)}`);
  if (session_id !== undefined) {
    clauses.push(`session = (SELECT id FROM sessions WHERE session_id = ${add(session_id)})`);
  }
  if (enabled !== undefined) clauses.push(`enabled = ${add(Number(enabled))}`);
  if (Object.keys(metadata).length > 0) {
    clauses.push(`millrace_json_v1(metadata) @> millrace_json_v1(${add(shortFilter(metadata))})`);
  }
  return clauses;
}

async function search(database: PostgresDatabase, query: CronQuery): ReturnType<CronStore["search"]> {
  const values: Values[number][] = [];
  const clauses = clausesOf(query, (value) => `$${values.push(value)}`);
  const ids = await keysContaining(database, query.metadata, () => {
    return { sql: `SELECT cron_id AS key, metadata FROM crons WHERE ${clauses.join(" AND ")}`, values: [...values] };
  });
  if (ids !== undefined) clauses.push(`cron_id = ANY ($${values.push(ids)}::text[])`);
  const where = clauses.length === 0 ? "" : `WHERE ${clauses.join(" AND ")}`;
  const column = orders[query.sort_by ?? "created_at"];
  // What is not there comes before everything else.
  const order = query.sort_order === "asc" ? `${column} ASC NULLS FIRST, id ASC` : `${column} DESC NULLS LAST, id DESC`;
  const page = `LIMIT $${values.length + 1} OFFSET $${values.length + 2}`;
  const [rows, [total]] = await Promise.all([
    database.read(`${select} ${where} ORDER BY ${order} ${page}`, [...values, query.limit, query.offset]),
    database.read(`SELECT count(*) AS count FROM crons ${where}`, values),
  ]);
  return { crons: readRows(CronRow, "crons", rows), total: parseRow(CountRow, "crons", total).count };
}

/** The crons in PostgreSQL. */
export function createCronStore(database: PostgresDatabase): CronStore {
  const listeners: ((date: string) => void)[] = [];
  const notifyDue = (cron: Cron | undefined): void => {
    const date = cron?.next_run_date ?? undefined;
    if (date !== undefined) for (const listener of listeners) listener(date);
  };
  const dueOnes = async (condition: string, values: Values): Promise<Cron[]> =>
    readRows(CronRow, "crons", await database.read(`${select} WHERE ${condition}`, values));
  return {
    onDueDate: (listener) => void listeners.push(listener),

    create: (cron) =>
      database.inOrder("crons", async () => {
        const { session_id, cron_id, owner, created_at, updated_at } = cron;
        const values = [session_id, cron_id, owner, ...valuesOf(cron), created_at, updated_at];
        if ((await database.change(insert, values)) === 0) {
          throw new AppError("not_found", `Session "${session_id}" not found.`);
        }
        notifyDue(cron);
        return cron;
      }),

    get: async (cronId) => (await dueOnes("cron_id = $1", [cronId]))[0],

    update: (cronId, patch) =>
      database.inOrder("crons", async () => {
        const changed = await database.transaction(async (statements) => {
          const [row] = await statements.rows(`${select} WHERE cron_id = $1 FOR UPDATE OF crons`, [cronId]);
          const cron = readRow(CronRow, "crons", row);
          if (cron === undefined) return undefined;
          const metadata = { ...cron.metadata, ...patch.metadata };
          const next: Cron = { ...cron, ...patch, metadata, updated_at: clusterDate() };
          await statements.change(update, [cronId, ...valuesOf(next), next.updated_at]);
          return next;
        });
        notifyDue(changed);
        return changed;
      }),

    delete: async (cronId) => (await database.change("DELETE FROM crons WHERE cron_id = $1", [cronId])) > 0,

    search: (query) => search(database, query),

    due: (now) => dueOnes("next_run_date <= $1 AND enabled = 1 ORDER BY next_run_date, id", [now]),

    async next() {
      const sql = `SELECT min(next_run_date) AS next_run_date FROM crons WHERE next_run_date IS NOT NULL AND enabled = 1`;
      return readRow(DateRow, "crons", (await database.read(sql))[0])?.next_run_date ?? undefined;
    },

    async skip({ cron_id, due, next }) {
      const sql = `UPDATE crons SET next_run_date = $3 WHERE cron_id = $1 AND next_run_date = $2 AND enabled = 1`;
      return (await database.change(sql, [cron_id, due, next])) > 0;
    },
  };
}
