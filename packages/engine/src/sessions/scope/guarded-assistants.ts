import { AppError } from "../../errors/errors.ts";
import { type AuthEvent, Refusal } from "../../manifest/auth.ts";
import type { AssistantStore } from "../../storage/assistants.ts";
import { contains } from "../../storage/items/contains.ts";
import type { Assistant } from "../../storage/records.ts";
import { ask, bothOf, type Guard } from "./guard.ts";

/** The assistants as the rules of `auth.path` show them to one user. */
export function guardedAssistants(assistants: AssistantStore, guard: Guard): AssistantStore {
  const seen = async (id: string, event: AuthEvent): Promise<Assistant | undefined> => {
    // Asked first: who may not look at all is told so, whatever there is.
    const filter = await ask(guard, event, { assistant_id: id });
    const found = await assistants.get(id);
    return found !== undefined && contains(found.metadata, filter ?? {}) ? found : undefined;
  };
  return {
    get: (id) => seen(id, "assistants:read"),
    async create(assistant) {
      const value = { ...assistant, metadata: { ...assistant.metadata } };
      await ask(guard, "assistants:create", value);
      return await assistants.create({ ...assistant, metadata: value.metadata });
    },
    async update(assistant, patch) {
      const { assistant_id } = assistant;
      const value = { assistant_id, ...patch, metadata: { ...patch.metadata } };
      const filter = await ask(guard, "assistants:update", value);
      if (!contains(assistant.metadata, filter ?? {})) throw new AppError("not_found", "Assistant not found");
      return await assistants.update(assistant, { ...patch, ...(patch.metadata && { metadata: value.metadata }) });
    },
    setLatest: async (id, version) =>
      (await seen(id, "assistants:update")) === undefined ? undefined : await assistants.setLatest(id, version),
    versions: async (id, query) =>
      (await seen(id, "assistants:read")) === undefined ? [] : await assistants.versions(id, query),
    async delete(id) {
      if ((await seen(id, "assistants:delete")) === undefined) throw new AppError("not_found", "Assistant not found");
      return await assistants.delete(id);
    },
    async search(query, system) {
      const { graph_id, limit, offset } = query;
      const value = { ...(graph_id && { graph_id }), metadata: { ...query.metadata }, limit, offset };
      const metadata = bothOf(value.metadata, await ask(guard, "assistants:search", value));
      return metadata === undefined
        ? { assistants: [], total: 0 }
        : await assistants.search({ ...query, metadata }, system);
    },
  };
}

/**
 * The assistants that this user may run: what another is not shown, another may not run either. Who may not look after
 * assistants at all may run them: runs have an event of their own, which names the assistant.
 */
export function runnableAssistants(assistants: AssistantStore, guard: Guard): Pick<AssistantStore, "get"> {
  const shown = guardedAssistants(assistants, guard);
  return {
    get: async (id) => {
      const found = await assistants.get(id);
      if (found === undefined || found.is_system) return found;
      return await shown.get(id).catch((error: unknown) => {
        if (error instanceof Refusal) return found;
        throw error;
      });
    },
  };
}
