import { AppError } from "../errors.ts";
import type { AuthEvent } from "../manifest/auth.ts";
import { lastingConfig } from "../runs/user-of-run.ts";
import { ask, bothOf, withUser, type Guard } from "../sessions/guard.ts";
import { isDone } from "../sessions/sessions.ts";
import { contains } from "../storage/contains.ts";
import { JsonObject } from "../storage/records.ts";
import type { Storage } from "../storage/storage.ts";
import type { OwnCrons } from "./own-crons.ts";

/** The runs of a cron are told who made it, or changed it last, whatever the payload says of that. */
function ofUser(payload: JsonObject, guard: Guard): JsonObject {
  const config = withUser({ config: JsonObject.safeParse(payload["config"]).data ?? {} }, guard);
  return { ...payload, config: lastingConfig(config) };
}

/** The crons as the rules of `auth.path` show them to one user; `crons` are all of them. */
export function guardedCrons(crons: OwnCrons, storage: Pick<Storage, "crons">, guard: Guard): OwnCrons {
  async function requireAllowed(id: string, event: AuthEvent, value: Record<string, unknown>): Promise<void> {
    const filter = await ask(guard, event, value);
    const found = await storage.crons.get(id);
    if (found === undefined || !contains(found.metadata, filter ?? {})) {
      throw new AppError("not_found", `Cron ${id} not found`);
    }
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
      return await crons.create({ ...cron, payload: ofUser(payload, guard), metadata: value.metadata });
    },
    async update(cron_id, change) {
      const value = { cron_id, ...change, metadata: { ...change.metadata } };
      await requireAllowed(cron_id, "crons:update", value);
      return await crons.update(cron_id, {
        ...change,
        ...(change.payload && { payload: ofUser(change.payload, guard) }),
        ...(change.metadata && { metadata: value.metadata }),
      });
    },
    delete: remove,
    search,
    async clear() {
      for (let kept = 0; ;) {
        const found = await search({ limit: 500, offset: kept });
        if (found.crons.length === 0) return;
        for (const { cron_id } of found.crons) if (!(await isDone(remove(cron_id)))) kept += 1;
      }
    },
  };
}
