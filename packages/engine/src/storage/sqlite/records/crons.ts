import { AppError } from "../../../errors/errors.ts";
import { z } from "zod";
import {
  type BusyReceivers,
  type Cron,
  type CronQuery,
  type CronStore,
  type CronOccurrence,
  type WebhookStore,
} from "../../record-stores.ts";
import { CountRow, CronRow, parseRow, readRows, readRow, WebhookRow } from "../../rows.ts";
import type { Database } from "../database/database.ts";
import type { GroupCommit } from "../database/durable.ts";
import type { Run } from "../../records.ts";
import type { RunOutcome } from "../../attempt-store.ts";

const DateRow = z.object({ next_run_date: z.string().nullable() });

const select = `SELECT cron_id, owner, assistant_id, schedule, timezone, end_time, payload, metadata, enabled,
  on_run_completed, next_run_date, created_at, updated_at,
  (SELECT session_id FROM sessions WHERE sessions.id = crons.session) AS session_id FROM crons`;

/** Every way to sort, written out: no name from a client reaches SQL. */
const orders = {
  cron_id: "cron_id",
  assistant_id: "assistant_id",
  thread_id: "session_id",
  created_at: "created_at",
  updated_at: "updated_at",
  next_run_date: "next_run_date",
} as const;

function toRow(cron: Cron) {
  return {
    ...cron,
    payload: JSON.stringify(cron.payload),
    metadata: JSON.stringify(cron.metadata),
    enabled: Number(cron.enabled),
  };
}

function find(database: Database, cronId: string): Cron | undefined {
  return readRow(CronRow, "crons", database.prepare(`${select} WHERE cron_id = ?`).get(cronId));
}

const insert = `INSERT INTO crons (cron_id, owner, assistant_id, session, schedule, timezone, end_time, payload, metadata,
    enabled, on_run_completed, next_run_date, created_at, updated_at)
  SELECT @cron_id, @owner, @assistant_id, (SELECT id FROM sessions WHERE session_id = @session_id), @schedule, @timezone,
    @end_time, @payload, @metadata, @enabled, @on_run_completed, @next_run_date, @created_at, @updated_at
  WHERE @session_id IS NULL OR EXISTS (SELECT 1 FROM sessions WHERE session_id = @session_id)`;

const change = `UPDATE crons SET assistant_id = @assistant_id, schedule = @schedule, timezone = @timezone,
  end_time = @end_time, payload = @payload, metadata = @metadata, enabled = @enabled,
  on_run_completed = @on_run_completed, next_run_date = @next_run_date, updated_at = @updated_at
  WHERE cron_id = @cron_id`;

function condition(query: CronQuery): { where: string; parameters: Record<string, string | number> } {
  const clauses: string[] = [];
  const parameters: Record<string, string | number> = {};
  const add = (clause: string, name: string, value: string | number): void => {
    clauses.push(clause);
    parameters[name] = value;
  };
  const { owner, assistant_id, session_id, enabled, metadata = {} } = query;
  if (owner !== undefined)
    add(owner.orphans ? "(owner = @owner OR owner IS NULL)" : "owner = @owner", "owner", owner.name);
  if (assistant_id !== undefined) add("assistant_id = @assistant_id", "assistant_id", assistant_id);
  if (session_id !== undefined) {
    add("session = (SELECT id FROM sessions WHERE session_id = @session_id)", "session_id", session_id);
  }
  if (enabled !== undefined) add("enabled = @enabled", "enabled", Number(enabled));
  if (Object.keys(metadata).length > 0) {
    add("json_contains(metadata, @metadata) = 1", "metadata", JSON.stringify(metadata));
  }
  return { where: clauses.length === 0 ? "" : `WHERE ${clauses.join(" AND ")}`, parameters };
}

function search(database: Database, query: CronQuery): { crons: Cron[]; total: number } {
  const { where, parameters } = condition(query);
  const direction = query.sort_order === "asc" ? "ASC" : "DESC";
  const order = `${orders[query.sort_by ?? "created_at"]} ${direction}, id ${direction}`;
  const { limit, offset } = query;
  const rows = database
    .prepare(`${select} ${where} ORDER BY ${order} LIMIT @limit OFFSET @offset`)
    .all({ ...parameters, limit, offset });
  const total = database.prepare(`SELECT count(*) AS count FROM crons ${where}`).get(parameters);
  return { crons: readRows(CronRow, "crons", rows), total: parseRow(CountRow, "crons", total).count };
}

/** Moves a cron on from the date it is due at. False, and nothing is changed, when it is not due then any more. */
export function advanceCron(database: Database, turn: CronOccurrence): boolean {
  const sql = `UPDATE crons SET next_run_date = @next WHERE cron_id = @cron_id AND next_run_date = @due AND enabled`;
  return database.prepare(sql).run({ ...turn }).changes > 0;
}

/** The crons in SQLite. */
export function createCronStore(database: Database, commits: GroupCommit): CronStore {
  const listeners: ((date: string) => void)[] = [];
  const notifyDue = (cron: Cron | undefined): void => {
    const date = cron?.next_run_date ?? undefined;
    if (date !== undefined) for (const listener of listeners) listener(date);
  };
  return {
    onDueDate: (listener) => void listeners.push(listener),

    async create(cron) {
      const isThere = await commits.durably(() => database.prepare(insert).run(toRow(cron)).changes > 0);
      if (!isThere) throw new AppError("not_found", `Session "${cron.session_id}" not found.`);
      notifyDue(cron);
      return cron;
    },

    get: async (cronId) => database.read(() => find(database, cronId)),

    async update(cronId, patch) {
      const changed = await commits.durably(() => {
        const cron = find(database, cronId);
        if (cron === undefined) return undefined;
        const metadata = { ...cron.metadata, ...patch.metadata };
        const next: Cron = { ...cron, ...patch, metadata, updated_at: new Date().toISOString() };
        database.prepare(change).run(toRow(next));
        return next;
      });
      notifyDue(changed);
      return changed;
    },

    delete: (cronId) =>
      commits.durably(() => database.prepare("DELETE FROM crons WHERE cron_id = ?").run(cronId).changes > 0),

    search: async (query) => database.read(() => search(database, query)),

    due: async (now) =>
      database.read(() =>
        readRows(
          CronRow,
          "crons",
          database.prepare(`${select} WHERE next_run_date <= ? AND enabled ORDER BY next_run_date, id`).all(now),
        ),
      ),

    next: async () =>
      database.read(
        () =>
          readRow(
            DateRow,
            "crons",
            database
              .prepare(
                "SELECT min(next_run_date) AS next_run_date FROM crons WHERE next_run_date IS NOT NULL AND enabled",
              )
              .get(),
          )?.next_run_date ?? undefined,
      ),

    skip: (turn) => commits.durably(() => advanceCron(database, turn)),
  };
}

const DueRow = z.object({ due_at: z.string() });

/** Writes what is to be told of a run's end; in the transaction of that end. */
export function insertWebhook(
  database: Database,
  { run_id, session_id }: Pick<Run, "run_id" | "session_id">,
  webhook: NonNullable<RunOutcome["webhook"]>,
): void {
  const sql = `INSERT INTO webhooks (run_id, url, host, owner, body, attempts, due_at)
    VALUES (@run_id, @url, @host, (SELECT owner FROM sessions WHERE session_id = @session_id), @body, 0, @due_at)`;
  const { url, host, body } = webhook;
  database.prepare(sql).run({ run_id, session_id, url, host, body, due_at: new Date().toISOString() });
}

/** Answered by the index `webhooks_by_receiver` alone: in a row, a long body stands before all of this. */
const isFree = `webhook_id NOT IN (SELECT value FROM json_each(@taken))
  AND host NOT IN (SELECT value FROM json_each(@hosts))
  AND (owner IS NULL OR owner NOT IN (SELECT value FROM json_each(@owners)))`;

const noBusyReceivers: BusyReceivers = { hosts: [], owners: [] };

/** What the ends of runs have left to tell, in SQLite. Which of it was taken is forgotten with the process. */
export function createWebhookStore(database: Database, commits: GroupCommit): WebhookStore {
  const taken = new Set<number>();
  const namesOf = ({ hosts, owners }: BusyReceivers): Record<"taken" | keyof BusyReceivers, string> => ({
    taken: JSON.stringify([...taken]),
    hosts: JSON.stringify(hosts),
    owners: JSON.stringify(owners),
  });
  return {
    claimDue: async (now, busy = noBusyReceivers) => {
      const sql = `SELECT * FROM webhooks WHERE webhook_id = (
          SELECT webhook_id FROM webhooks WHERE due_at <= @now AND ${isFree} ORDER BY due_at, webhook_id LIMIT 1
        )`;
      const found = database.read(() => database.prepare(sql).get({ now, ...namesOf(busy) }));
      const webhook = readRow(WebhookRow, "webhooks", found);
      if (webhook !== undefined) taken.add(webhook.webhook_id);
      return webhook;
    },

    nextDueAt: async (busy = noBusyReceivers) =>
      database.read(
        () =>
          readRow(
            DueRow,
            "webhooks",
            database.prepare(`SELECT due_at FROM webhooks WHERE ${isFree} ORDER BY due_at LIMIT 1`).get(namesOf(busy)),
          )?.due_at,
      ),

    release: async (webhookId) => void taken.delete(webhookId),

    async postpone(webhook_id, due_at) {
      const sql = "UPDATE webhooks SET attempts = attempts + 1, due_at = @due_at WHERE webhook_id = @webhook_id";
      await commits.transaction(() => database.prepare(sql).run({ webhook_id, due_at }));
      taken.delete(webhook_id);
    },

    async remove(webhookId) {
      await commits.transaction(() => database.prepare("DELETE FROM webhooks WHERE webhook_id = ?").run(webhookId));
      taken.delete(webhookId);
    },
  };
}
