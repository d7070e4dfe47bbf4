import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { documentLayer, referencesLayer } from "../context/layers.ts";
import { promptsOf } from "../loop/services.ts";
import type { GraphState } from "../state.ts";
import { runContext, type GatheredContext } from "./node-request.ts";

const nothing: GatheredContext = { before: [], after: [] };

/**
 * What the model is told of this turn besides the conversation: what the user's editor shows and refers to (CTX-06, CTX-07).
 * A run that gives none of it costs nothing.
 */
export async function gatherContext(_state: GraphState, config: LangGraphRunnableConfig): Promise<GatheredContext> {
  const { document, references = [], agent } = runContext(config);
  if (agent !== undefined || (document === undefined && references.length === 0)) return nothing;
  const prompts = promptsOf(config);
  const after = [documentLayer(document, prompts), referencesLayer(references, prompts)];
  return { before: [], after: after.filter((one) => one !== null) };
}
