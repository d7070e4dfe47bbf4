import { AppError } from "../errors/errors.ts";
import type { AuthEvent } from "../manifest/auth.ts";
import { lastingConfig } from "../runs/admission/user-of-run.ts";
import { ask, bothOf, withUser, type Guard } from "../sessions/scope/guard.ts";
import { isDone } from "../sessions/sessions.ts";
import { contains } from "../storage/items/contains.ts";
import { JsonObject } from "../storage/records.ts";
import type { Cron } from "../storage/crons.ts";
import type { Storage } from "../storage/storage.ts";
import type { OwnCrons } from "./own-crons.ts";
import { threadMetadata } from "./start-cron-run.ts";

/**
 * What a cron asks for, as its user may have it: the rules are asked about its threads and runs when it is made or asks for
 * something else, for nobody is there when they begin. What the rules write on them is kept with the cron, and its runs are told
 * who it was, whatever the payload says of that. Throws `Refusal` or `permission` for what the user may not start.
 */
async function ofUser(
  payload: JsonObject,
  { assistant_id, session_id, metadata }: Pick<Cron, "assistant_id" | "session_id" | "metadata">,
  { sessions }: Pick<Storage, "sessions">,
  guard: Guard,
): Promise<JsonObject> {
  const config = withUser({ config: JsonObject.safeParse(payload["config"]).data ?? {} }, guard);
  const ofThread = session_id === null ? await ofNewThread(guard) : (await sessions.get(session_id))?.metadata;
  // The runs carry what the cron does, so the rules see it before they write.
  const value = { assistant_id, metadata: { ...metadata }, kwargs: payload };
  const run = { ...(session_id !== null && { thread_id: session_id }), ...value };
  const filter = await ask(guard, "threads:create_run", run);
  if (filter !== undefined && !contains(ofThread, filter)) {
    throw new AppError("permission", "The rules of auth.path let this user start no runs in the thread of this cron.");
  }
  const kept = { ...payload, config: lastingConfig(config), metadata: run.metadata };
  return session_id === null ? { ...kept, [threadMetadata]: ofThread } : kept;
}

async function ofNewThread(guard: Guard): Promise<JsonObject> {
  const thread = { metadata: {} };
  await ask(guard, "threads:create", thread);
  return thread.metadata;
}

/** The crons as the rules of `auth.path` show them to one user; `crons` are all of them. */
export function guardedCrons(crons: OwnCrons, storage: Pick<Storage, "crons" | "sessions">, guard: Guard): OwnCrons {
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
      // Another date of the same is not another's.
      const asksAnew = Object.keys({ ...payload, ...change.metadata }).length > 0;
      const asked = { ...found.payload, ...payload };
      const metadata = { ...found.metadata, ...(change.metadata && value.metadata) };
      const guarded = {
        ...change,
        ...(asksAnew && { payload: await ofUser(asked, { ...found, ...change, metadata }, storage, guard) }),
        ...(change.metadata && { metadata: value.metadata }),
      };
      return await crons.update(cron_id, guarded, check);
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
