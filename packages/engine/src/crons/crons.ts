import { v7 as newId } from "@langchain/core/utils/uuid";
import { clusterDate, clusterTime } from "../concurrency/cluster-time.ts";
import { AppError } from "../errors/errors.ts";
import { adminName } from "../config/api-keys.ts";
import type { Cron, CronQuery } from "../storage/record-stores.ts";
import { JsonObject, type Run } from "../storage/records.ts";
import type { Storage } from "../storage/storage.ts";
import type { AuthEvent } from "../manifest/auth.ts";
import { storableConfig } from "../runs/admission/run-config.ts";
import { ask, bothOf, type AuthorizationRules, withUser } from "../sessions/scope/guard.ts";
import { isDone } from "../sessions/sessions.ts";
import { contains } from "../storage/items/contains.ts";
import { threadMetadata } from "./clock.ts";
import { nextDate } from "./schedule.ts";

/** The fields of a new cron. */
export type NewCron = Omit<Cron, "cron_id" | "owner" | "next_run_date" | "created_at" | "updated_at">;

/** The fields of a cron that can be changed. */
export type CronChange = Partial<Omit<NewCron, "session_id">>;

/** The crons of one owner; those of others do not exist for it. */
export interface OwnCrons {
  /** Throws `invalid_parameter` for a schedule without dates, `not_found` for an unknown session. */
  create(cron: NewCron): Promise<Cron>;
  /** Throws `not_found`, and what `check` throws for the merged payload, in which new fields replace old ones. */
  update(cronId: string, change: CronChange, check: (payload: JsonObject) => Promise<unknown>): Promise<Cron>;
  /** Starts a run now; the dates stay as they are. Throws `not_found`, and what the start of a run throws. */
  start(cronId: string): Promise<Run>;
  /** Throws `not_found`. */
  delete(cronId: string): Promise<void>;
  /** Deletes all of them. */
  clear(): Promise<void>;
  search(query: Omit<CronQuery, "owner">): Promise<{ crons: Cron[]; total: number }>;
}

/** The cron's next due date from now; none for a disabled one. */
function dateOf(cron: NewCron): string | null {
  return cron.enabled ? nextDate(cron, new Date(clusterTime())) : null;
}

/** The crons of all owners, and how a run of one is started. */
interface CronParts {
  crons: Storage["crons"];
  start: (cron: Cron) => Promise<Run>;
}

/**
 * The crons of one owner (`null`: of all, without keys); `maker` owns new ones. The caller checks access to sessions.
 */
export function ownCrons({ crons, start }: CronParts, owner: string | null, maker = owner): OwnCrons {
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
      const now = clusterDate();
      const dates = { next_run_date: dateOf(cron), created_at: now, updated_at: now };
      if (nextDate(cron, new Date(clusterTime())) === null) throw neverDue();
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
    async start(cronId) {
      return await start(await requireCron(cronId));
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
    message_zh: "在结束时间之前，没有符合计划的日期。请选择将来仍会到来的时间。",
  });
}

/**
 * A user's cron after the rules: they are asked about its threads and runs when it is created or its request changes,
 * since no request exists when it fires. What the rules write is stored with the cron, and its runs always carry this
 * user, whatever the payload claims. Throws `Refusal` or `permission` for a run the user may not start.
 */
async function ofUser(
  payload: JsonObject,
  { assistant_id, session_id, metadata }: Pick<Cron, "assistant_id" | "session_id" | "metadata">,
  { sessions }: Pick<Storage, "sessions">,
  guard: AuthorizationRules,
): Promise<JsonObject> {
  const config = withUser({ config: JsonObject.safeParse(payload["config"]).data ?? {} }, guard);
  const ofThread = session_id === null ? await ofNewThread(guard) : (await sessions.get(session_id))?.metadata;
  // The runs inherit the cron's fields, so the rules see them first.
  const value = { assistant_id, metadata: { ...metadata }, kwargs: payload };
  const run = { ...(session_id !== null && { thread_id: session_id }), ...value };
  const filter = await ask(guard, "threads:create_run", run);
  if (filter !== undefined && !contains(ofThread, filter)) {
    throw new AppError("permission", "The rules of auth.path let this user start no runs in the thread of this cron.");
  }
  const kept = { ...payload, config: storableConfig(config), metadata: run.metadata };
  return session_id === null ? { ...kept, [threadMetadata]: ofThread } : kept;
}

async function ofNewThread(guard: AuthorizationRules): Promise<JsonObject> {
  const thread = { metadata: {} };
  await ask(guard, "threads:create", thread);
  return thread.metadata;
}

/** A user's crons under the rules of `auth.path`; `crons` are all of them. */
export function guardedCrons(
  crons: OwnCrons,
  storage: Pick<Storage, "crons" | "sessions">,
  guard: AuthorizationRules,
): OwnCrons {
  async function requireAllowed(id: string, event: AuthEvent, value: Record<string, unknown>): Promise<Cron> {
    const filter = await ask(guard, event, value);
    const found = await storage.crons.get(id);
    if (found === undefined || !contains(found.metadata, filter ?? {})) {
      throw new AppError("not_found", `Cron ${id} not found`);
    }
    return found;
  }
  async function remove(cron_id: string): Promise<void> {
    await requireAllowed(cron_id, "crons:delete", { cron_id });
    await crons.delete(cron_id);
  }
  const search: OwnCrons["search"] = async (query) => {
    const { assistant_id, session_id: thread_id, limit, offset } = query;
    const value = { assistant_id, thread_id, metadata: { ...query.metadata }, limit, offset };
    const metadata = bothOf(value.metadata, await ask(guard, "crons:search", value));
    return metadata === undefined ? { crons: [], total: 0 } : await crons.search({ ...query, metadata });
  };
  return {
    async create(cron) {
      const { schedule, payload, session_id: thread_id, end_time, assistant_id } = cron;
      const value = { schedule, payload, thread_id, end_time, assistant_id, metadata: { ...cron.metadata } };
      await ask(guard, "crons:create", value);
      const { metadata } = value;
      return await crons.create({
        ...cron,
        payload: await ofUser(payload, { ...cron, metadata }, storage, guard),
        metadata,
      });
    },
    async update(cron_id, change, check) {
      const value = { cron_id, ...change, metadata: { ...change.metadata } };
      const found = await requireAllowed(cron_id, "crons:update", value);
      const { payload = {} } = change;
      // Changing only the date does not change the user the runs belong to.
      const asksAnew = Object.keys({ ...payload, ...change.metadata }).length > 0;
      const merged = { ...found.payload, ...payload };
      const metadata = { ...found.metadata, ...(change.metadata && value.metadata) };
      const guarded = {
        ...change,
        ...(asksAnew && { payload: await ofUser(merged, { ...found, ...change, metadata }, storage, guard) }),
        ...(change.metadata && { metadata: value.metadata }),
      };
      return await crons.update(cron_id, guarded, check);
    },
    async start(cron_id) {
      const found = await requireAllowed(cron_id, "crons:read", { cron_id });
      await ofUser(found.payload, found, storage, guard);
      return await crons.start(cron_id);
    },
    delete: remove,
    search,
    clear: () => removeAllowed(search, remove),
  };
}

/** Deletes what a search finds, except for what the rules keep. */
async function removeAllowed(search: OwnCrons["search"], remove: OwnCrons["delete"]): Promise<void> {
  for (let kept = 0; ;) {
    const found = await search({ limit: 500, offset: kept });
    if (found.crons.length === 0) return;
    for (const { cron_id } of found.crons) if (!(await isDone(remove(cron_id)))) kept += 1;
  }
}
