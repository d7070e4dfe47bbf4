import { v7 as newId } from "@langchain/core/utils/uuid";
import { clusterDate } from "../concurrency/cluster-time.ts";
import { AppError, isAppError } from "../errors/errors.ts";
import { findAssistant, type Graphs } from "../graphs/load.ts";
import type { AssistantPatch, AssistantStore, AssistantVersion } from "../storage/record-stores.ts";
import { contains } from "../storage/items/contains.ts";
import type { Assistant } from "../storage/records.ts";
import type { SessionRuns, SessionStorage } from "./scope/session-storage.ts";
import { deleteSession, isDone } from "./sessions.ts";

/** The stored assistants as the caller sees them, and the served graphs. */
export interface AssistantParts {
  storage: Pick<SessionStorage, "assistants">;
  graphs: Graphs;
}

/** The fields of a new assistant. Without a name it is `Untitled`. */
export interface NewAssistant extends Partial<Pick<Assistant, "config" | "context" | "metadata" | "name">> {
  graph_id: string;
  assistant_id?: string | undefined;
  description?: string | null;
  /** What to do if the id exists: `raise` (default) throws `conflict`, `do_nothing` returns the existing one. */
  if_exists?: "raise" | "do_nothing" | undefined;
}

/** Creates an assistant. Throws `not_found` for a graph that is not served, `conflict` for an id in use. */
export async function createAssistant({ storage, graphs }: AssistantParts, request: NewAssistant): Promise<Assistant> {
  graphs.get(request.graph_id);
  const now = clusterDate();
  const assistant: Assistant = {
    assistant_id: request.assistant_id ?? newId(),
    owner: null,
    is_system: false,
    graph_id: request.graph_id,
    config: request.config ?? {},
    context: request.context ?? {},
    metadata: request.metadata ?? {},
    version: 1,
    name: request.name ?? "Untitled",
    description: request.description ?? null,
    created_at: now,
    updated_at: now,
  };
  const taken = (): AppError => new AppError("conflict", "Assistant already exists");
  const existing = await findAssistant(storage, graphs, assistant.assistant_id);
  if (existing !== undefined) {
    if (request.if_exists === "do_nothing") return existing;
    throw taken();
  }
  // In use by another owner, or since a moment ago.
  return await storage.assistants.create(assistant).catch((error: unknown) => {
    throw isAppError(error) && error.code === "conflict" ? taken() : error;
  });
}

/** An assistant by its id, or a graph's default one. Throws `not_found`. */
export async function requireAssistant({ storage, graphs }: AssistantParts, idOrGraphId: string): Promise<Assistant> {
  const assistant = await findAssistant(storage, graphs, idOrGraphId);
  if (assistant !== undefined) return assistant;
  const problem = graphs.problems.find(({ graph_id }) => graph_id === idOrGraphId);
  const why = problem === undefined ? "" : `: its graph is not served, since ${problem.message}`;
  throw new AppError("not_found", `Assistant not found${why}`);
}

/** Creates the next version of an assistant. Throws `not_found` for a graph that is not served. */
export async function changeAssistant(
  { storage, graphs }: AssistantParts,
  assistant: Assistant,
  patch: AssistantPatch,
): Promise<Assistant> {
  if (patch.graph_id !== undefined) graphs.get(patch.graph_id);
  return await storage.assistants.update(assistant, patch);
}

/** The versions of an assistant, newest first. */
export async function assistantVersions(
  { storage }: Pick<AssistantParts, "storage">,
  assistant: Assistant,
  query: Parameters<AssistantStore["versions"]>[1],
): Promise<AssistantVersion[]> {
  const { assistant_id } = assistant;
  if ((await storage.assistants.get(assistant_id)) !== undefined) {
    return await storage.assistants.versions(assistant_id, query);
  }
  const { owner: _owner, is_system: _isSystem, updated_at: _updatedAt, ...version } = assistant;
  return query.offset === 0 && contains(version.metadata, query.metadata ?? {}) ? [version] : [];
}

/** Activates an earlier version. Throws `not_found` for one that does not exist. */
export async function useVersion(
  { storage }: Pick<AssistantParts, "storage">,
  assistant: Assistant,
  version: number,
): Promise<Assistant> {
  const used = await storage.assistants.setLatest(assistant.assistant_id, version);
  if (used !== undefined) return used;
  const isItsOnly =
    assistant.version === version && (await storage.assistants.get(assistant.assistant_id)) === undefined;
  if (isItsOnly) return assistant;
  throw new AppError("not_found", "Assistant version not found");
}

/**
 * Deletes an assistant with its versions and runs; what these wrote into threads stays, unless the threads that last
 * used it are to be deleted too. Throws `permission` for a graph's default assistant.
 */
export async function deleteAssistant(
  { storage, runs }: { storage: SessionStorage; runs: SessionRuns },
  { assistant_id, is_system, graph_id }: Assistant,
  withSessions: boolean,
): Promise<void> {
  if (is_system) {
    throw new AppError("permission", `"${graph_id}" is a graph of this server, whose own assistant stays.`, {
      suggestion: "Take the graph out of langgraph.json, or delete an assistant that was made of it.",
    });
  }
  // From here on, none of its runs can start.
  await storage.assistants.delete(assistant_id);
  await runs.removeOfAssistant(assistant_id);
  // The rules of `auth.path` may show some without allowing to delete them: skip those.
  for (let kept = 0; withSessions;) {
    const { sessions } = await storage.sessions.search({ metadata: { assistant_id }, limit: 100, offset: kept });
    if (sessions.length === 0) return;
    const parts = { storage, runs };
    const deleted = await Promise.all(sessions.map(({ session_id }) => isDone(deleteSession(parts, session_id))));
    if (!deleted.includes(true)) kept += sessions.length;
  }
}
