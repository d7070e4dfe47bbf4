import { v7 as newId } from "@langchain/core/utils/uuid";
import { AppError } from "../errors/errors.ts";
import { adminName } from "../config/api-keys.ts";
import type { Cron, CronQuery } from "../storage/crons.ts";
import type { JsonObject } from "../storage/records.ts";
import type { Storage } from "../storage/storage.ts";
import { nextDate } from "./schedule.ts";

/** What a new cron is given. */
export type NewCron = Omit<Cron, "cron_id" | "owner" | "next_run_date" | "created_at" | "updated_at">;

/** What may be changed of one. */
export type CronChange = Partial<Omit<NewCron, "session_id">>;

/** The crons of one owner. A cron of somebody else is as one that does not exist. */
export interface OwnCrons {
  /** Throws `invalid_parameter` for a schedule that is never due, `not_found` for an unknown session. */
  create(cron: NewCron): Promise<Cron>;
  /** Throws `not_found`, and what `check` says of the new payload, whose fields replace those of the same name. */
  update(cronId: string, change: CronChange, check: (payload: JsonObject) => Promise<unknown>): Promise<Cron>;
  /** Throws `not_found`. */
  delete(cronId: string): Promise<void>;
  /** Deletes all of them. */
  clear(): Promise<void>;
  search(query: Omit<CronQuery, "owner">): Promise<{ crons: Cron[]; total: number }>;
}

/** When the cron is due next, from now on; one that is not enabled never is. */
function dateOf(cron: NewCron): string | null {
  return cron.enabled ? nextDate(cron, new Date()) : null;
}

/**
 * The way of one owner (`null`: of everybody, where no keys are asked for) to the crons; new ones are `maker`'s.
 * Sessions are the owner's to check.
 */
export function ownCrons({ crons }: Pick<Storage, "crons">, owner: string | null, maker = owner): OwnCrons {
  const orphans = owner === adminName;
  async function requireCron(cronId: string): Promise<Cron> {
    const cron = await crons.get(cronId);
    const isOwn = owner === null || cron?.owner === owner || (orphans && cron?.owner === null);
    if (cron === undefined || !isOwn) throw new AppError("not_found", `Cron ${cronId} not found`);
    return cron;
  }
  const search: OwnCrons["search"] = (query) =>
    crons.search(owner === null ? query : { ...query, owner: { name: owner, orphans } });
  return {
    async create(cron) {
      const now = new Date().toISOString();
      const dates = { next_run_date: dateOf(cron), created_at: now, updated_at: now };
      if (nextDate(cron, new Date()) === null) throw neverDue();
      return await crons.create({ ...cron, cron_id: newId(), owner: maker, ...dates });
    },
    async update(cronId, change, check) {
      const cron = await requireCron(cronId);
      const next: Cron = { ...cron, ...change, payload: { ...cron.payload, ...change.payload } };
      const { payload } = next;
      if (Object.keys(change.payload ?? {}).length > 0) await check(payload);
      const isMoved = (["schedule", "timezone", "end_time", "enabled"] as const).some(
        (name) => next[name] !== cron[name],
      );
      const changed = { ...change, payload, ...(isMoved && { next_run_date: dateOf(next) }) };
      return required(await crons.update(cronId, changed), cronId);
    },
    async delete(cronId) {
      await requireCron(cronId);
      await crons.delete(cronId);
    },
    search,
    async clear() {
      for (;;) {
        const found = await search({ limit: 500, offset: 0 });
        if (found.total === 0) return;
        for (const { cron_id } of found.crons) await crons.delete(cron_id);
      }
    },
  };
}

function required(cron: Cron | undefined, cronId: string): Cron {
  if (cron === undefined) throw new AppError("not_found", `Cron ${cronId} not found`);
  return cron;
}

function neverDue(): AppError {
  return new AppError("invalid_parameter", "schedule: no date of it lies between now and end_time.", {
    suggestion: "Choose a schedule with a date to come, and an end_time after that.",
  });
}
