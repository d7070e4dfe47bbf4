import { AppError } from "@millrace/engine/errors/errors";
import type { AssistantStore, AssistantVersion } from "@millrace/engine/storage/record-stores";
import { contains } from "@millrace/engine/storage/items/contains";
import type { Assistant } from "@millrace/engine/storage/records";

/** Assistants in memory. */
export function createMemoryAssistants(): AssistantStore {
  const rows = new Map<string, Assistant>();
  const versions = new Map<string, AssistantVersion[]>();
  const keep = (assistant: Assistant): Assistant => {
    rows.set(assistant.assistant_id, assistant);
    const { owner: _owner, is_system: _isSystem, updated_at: created_at, ...version } = assistant;
    const known = versions.get(assistant.assistant_id) ?? [];
    versions.set(assistant.assistant_id, [{ ...version, created_at }, ...known]);
    return assistant;
  };
  return {
    async create(assistant) {
      if (rows.has(assistant.assistant_id)) throw new AppError("conflict", "Assistant already exists");
      return keep(assistant);
    },
    get: async (id) => rows.get(id),
    async update(given, patch) {
      const assistant = rows.get(given.assistant_id) ?? keep(given);
      const newest = versions.get(assistant.assistant_id)?.[0]?.version ?? 0;
      return keep({
        ...assistant,
        ...patch,
        metadata: { ...assistant.metadata, ...patch.metadata },
        version: newest + 1,
        updated_at: new Date().toISOString(),
      });
    },
    async setLatest(id, version) {
      const [row, found] = [rows.get(id), versions.get(id)?.find((one) => one.version === version)];
      if (row === undefined || found === undefined) return undefined;
      const latest = { ...row, ...found, created_at: row.created_at, updated_at: new Date().toISOString() };
      rows.set(id, latest);
      return latest;
    },
    versions: async (id, { limit, offset, metadata = {} }) =>
      (versions.get(id) ?? []).filter((one) => contains(one.metadata, metadata)).slice(offset, offset + limit),
    async delete(id) {
      versions.delete(id);
      return rows.delete(id);
    },
    async search(query, system) {
      const { owner, graph_id, name = "", metadata = {}, sort_by: key = "created_at", sort_order = "desc" } = query;
      const served = new Set(system.map((one) => one.assistant_id));
      const known = [...rows.values()].filter((one) => !one.is_system || served.has(one.assistant_id));
      const isSeen = (one: Assistant): boolean =>
        owner === undefined || one.is_system || one.owner === owner.name || (owner.orphans && one.owner === null);
      const found = [...known, ...system.filter((one) => !rows.has(one.assistant_id))]
        .filter(isSeen)
        .filter((one) => one.graph_id === (graph_id ?? one.graph_id))
        .filter((one) => one.name.toLowerCase().includes(name.toLowerCase()))
        .filter((one) => contains(one.metadata, metadata));
      const sign = sort_order === "asc" ? 1 : -1;
      const placeOf = (one: Assistant): string => `${one[key]} ${one.assistant_id}`;
      const sorted = found.toSorted((one, other) => (placeOf(one) < placeOf(other) ? -sign : sign));
      return { assistants: sorted.slice(query.offset, query.offset + query.limit), total: found.length };
    },
  };
}
