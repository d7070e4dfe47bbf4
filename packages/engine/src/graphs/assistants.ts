import { v5 as nameUuid } from "@langchain/core/utils/uuid";
import { type GraphDefaults, noDefaults } from "../manifest/custom-parts.ts";
import type { Assistant } from "../storage/records.ts";

/** LangGraph's namespace for the ids of system assistants. */
const assistantNamespace = "6ba7b821-9dad-11d1-80b4-00c04fd430c8";

/** The id of a graph's own assistant: the same on every LangGraph server. */
export function systemAssistantId(graphId: string): string {
  return nameUuid(graphId, assistantNamespace);
}

/** A graph's default assistant; its `config` and `context` are the graph's defaults. */
export function systemAssistant(graphId: string, since: string, defaults: GraphDefaults = noDefaults): Assistant {
  return {
    assistant_id: systemAssistantId(graphId),
    owner: null,
    is_system: true,
    graph_id: graphId,
    config: defaults.config,
    context: defaults.context,
    metadata: { created_by: "system" },
    version: 1,
    name: graphId,
    description: defaults.description ?? null,
    created_at: since,
    updated_at: since,
  };
}
