import { v5 as nameUuid } from "@langchain/core/utils/uuid";
import type { JsonObject } from "../storage/records.ts";

/** LangGraph's namespace for the ids of system assistants (wire contract, section 1). */
const assistantNamespace = "6ba7b821-9dad-11d1-80b4-00c04fd430c8";

/** A graph as the wire offers it (wire contract, section 2). Dates are ISO-8601. */
export interface Assistant {
  assistant_id: string;
  graph_id: string;
  config: JsonObject;
  context: JsonObject;
  metadata: JsonObject;
  version: number;
  name: string;
  description: string | null;
  created_at: string;
  updated_at: string;
}

/** The id of a graph's own assistant: the same on every LangGraph server. */
export function systemAssistantId(graphId: string): string {
  return nameUuid(graphId, assistantNamespace);
}

/** The assistant every graph has without being asked for. */
export function systemAssistant(graphId: string, since: string): Assistant {
  return {
    assistant_id: systemAssistantId(graphId),
    graph_id: graphId,
    config: {},
    context: {},
    metadata: { created_by: "system" },
    version: 1,
    name: graphId,
    description: null,
    created_at: since,
    updated_at: since,
  };
}
