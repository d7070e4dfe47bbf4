import type { AIMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { z } from "zod";
import { isProviderSearchAvailable } from "@millrace/models/provider-search";
import type { ModelOptions } from "@millrace/models/provider";
import { SearchResult } from "@millrace/models/messages/search-result";
import { emit, type LoopCall } from "../request.ts";

const Kept = z.array(SearchResult).min(1);

/** What the call wants of its model. */
export function modelOptions(model: string, call: LoopCall): ModelOptions {
  const { temperature, thinking, maxTokens, toolProtocol } = call;
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(thinking === undefined ? {} : { thinking }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(toolProtocol === undefined ? {} : { toolProtocol }),
    ...searchOptions(model, call),
  };
}

/** The option for the vendor's own web search, if the run wants it and the vendor has it. */
function searchOptions(model: string, { providerSearch, silent }: LoopCall): Pick<ModelOptions, "webSearch"> {
  return providerSearch === true && !silent && isProviderSearchAvailable(model) ? { webSearch: true } : {};
}

/** Emits the vendor's search results, which come only with the answer. */
export function emitVendorSearch(
  { additional_kwargs }: AIMessage,
  model: string,
  { providerSearch }: LoopCall,
  config: LangGraphRunnableConfig,
): void {
  if (providerSearch !== true) return;
  const results = Kept.safeParse(additional_kwargs["web_search_results"]).data;
  if (results === undefined) return;
  const [engine = model] = model.split(":");
  emit(config, { type: "web_search_complete", engine, count: results.length, results });
}
