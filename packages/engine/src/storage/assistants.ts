import type { Assistant, JsonObject } from "./records.ts";

/** Which assistants a search wants, and in which order: newest first unless said otherwise. */
export interface AssistantQuery {
  limit: number;
  offset: number;
  /** Only the system's and those of this owner, and with `orphans` those of nobody. Default all. */
  owner?: { name: string; orphans: boolean } | undefined;
  graph_id?: string | undefined;
  /** Any part of the name, in any case. */
  name?: string | undefined;
  /** Filters by containment. */
  metadata?: JsonObject | undefined;
  sort_by?: "assistant_id" | "graph_id" | "created_at" | "updated_at" | "name" | undefined;
  sort_order?: "asc" | "desc" | undefined;
}

/** What a new version changes; `metadata` is merged shallowly, the rest is replaced. */
export type AssistantPatch = Partial<
  Pick<Assistant, "graph_id" | "config" | "context" | "metadata" | "name" | "description">
>;

/** One version of an assistant. It never changes. */
export type AssistantVersion = Omit<Assistant, "owner" | "is_system" | "updated_at">;

/**
 * The assistants that users made, and the versions they made of the system's. A graph's own assistant is no row before
 * somebody has changed it: whoever asks brings those along as `system`.
 */
export interface AssistantStore {
  /** Stores it as its first version. Throws `conflict` when the id is taken. */
  create(assistant: Assistant): Promise<Assistant>;
  get(assistantId: string): Promise<Assistant | undefined>;
  /** Makes the next version of `assistant`, which is stored first where it is one of the system without a row. */
  update(assistant: Assistant, patch: AssistantPatch): Promise<Assistant>;
  /** Puts a former version in use. `undefined` for one that does not exist. */
  setLatest(assistantId: string, version: number): Promise<Assistant | undefined>;
  /** The versions of an assistant, newest first. */
  versions(
    assistantId: string,
    query: { limit: number; offset: number; metadata?: JsonObject | undefined },
  ): Promise<AssistantVersion[]>;
  /** Removes it with its versions. */
  delete(assistantId: string): Promise<boolean>;
  /** `total` counts all matches, not the page. A row of the system whose graph is not among `system` is left out. */
  search(query: AssistantQuery, system: readonly Assistant[]): Promise<{ assistants: Assistant[]; total: number }>;
}
