import { isHumanMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { cutToTokens } from "../../context/assembler.ts";
import { layer } from "../../context/layers.ts";
import { textOf } from "@millrace/engine/message-kinds";
import { AppError, errorMessage, isAppError } from "@millrace/engine/errors/errors";
import { emit } from "../../loop/request.ts";
import { promptsOf, runIdOf, servicesOf, sessionIdOf } from "../../loop/services.ts";
import { isProviderSearchAvailable } from "@millrace/models/provider-search";
import type { ContextLayer } from "../../prompts/injector.ts";
import { searchResults } from "../../prompts/templates/search-results.ts";
import type { GraphState, RunContext } from "../../state.ts";
import { searchResultsText, type SearchResult } from "@millrace/models/messages/search-result";
import type { WebSearch } from "../../web/web-search.ts";
import { modelForWork } from "./node-model.ts";
import { onceATurn } from "./once-a-turn.ts";
import { runToolkits } from "./run-toolkits.ts";

/** What was found for a turn: as the model is told of it, and as it is kept on the reply. */
export interface FoundAhead {
  layer: ContextLayer | null;
  results: readonly SearchResult[];
}

const nothing: FoundAhead = { layer: null, results: [] };

const once = onceATurn<FoundAhead>();

/**
 * Searches the web for what the user has said, before the model is asked. `tokens`: how long the model's part of it may
 * be. A search that fails is told and logged, and the turn goes on without; only a stop is thrown.
 */
export async function searchAhead(
  state: GraphState,
  { tokens, context }: { tokens: number; context: RunContext },
  config: LangGraphRunnableConfig,
): Promise<FoundAhead> {
  return await once(state, config, async () => {
    const query = textOf(state.messages.findLast(isHumanMessage)?.content ?? "").trim();
    if (query === "") return nothing;
    const isOn = runToolkits(context, config).some(({ name }) => name === "web");
    const results = await find(query, isOn ? servicesOf(config).web?.search : undefined, config);
    if (results.length === 0) return nothing;
    const values = { query: query.slice(0, 200).toWellFormed(), results: searchResultsText(results) };
    const text = cutToTokens(promptsOf(config).text(searchResults, values), tokens);
    // What the model is not told of is no source of what it says.
    return text === ""
      ? nothing
      : { layer: { ...layer("web_search", "Found on the web", text), isOptional: true }, results };
  });
}

const told = onceATurn<true>();

/** Tells, once in a turn, that the vendor of the model does not search the web although the run wants it to. */
export async function checkVendorSearch(
  state: GraphState,
  context: RunContext,
  config: LangGraphRunnableConfig,
): Promise<void> {
  const model = modelForWork("main", state.messages, context, config);
  if (isProviderSearchAvailable(model)) return;
  await told(state, config, async () => {
    const [provider = model] = model.split(":");
    const suggestion = "Choose a model of zhipu, or the general search (web_search: general).";
    const problem = new AppError("invalid_parameter", `Models of ${provider} do not search the web.`, { suggestion });
    tellFailure(problem, provider, config);
    return true;
  });
}

async function find(
  query: string,
  engine: WebSearch | undefined,
  config: LangGraphRunnableConfig,
): Promise<SearchResult[]> {
  const signal = config.signal ?? new AbortController().signal;
  try {
    const search = engine ?? notSetUp();
    emit(config, { type: "web_search_started", phase: "searching", engine: search.engine, query: query.slice(0, 200) });
    const results = await search.search(query, signal);
    emit(config, { type: "web_search_complete", engine: search.engine, count: results.length, results });
    return results;
  } catch (error) {
    signal.throwIfAborted();
    tellFailure(error, engine?.engine ?? null, config);
    return [];
  }
}

function notSetUp(): WebSearch {
  throw new AppError("config", "No search engine is set up, or the toolkit web is off.", {
    suggestion: "GET /web-search says how it is done.",
  });
}

/** Tells readers, and the log, that the web was not searched. */
function tellFailure(error: unknown, engine: string | null, config: LangGraphRunnableConfig): void {
  const error_type = isAppError(error) ? error.code : "execution_failed";
  const message = errorMessage(error);
  const suggestion = isAppError(error) ? (error.suggestion ?? null) : null;
  const about = { session_id: sessionIdOf(config), run_id: runIdOf(config), engine };
  servicesOf(config).logger?.warn({ ...about, error_type, reason: message, suggestion }, "web_search_failed");
  emit(config, { type: "web_search_error", engine, error_type, message, suggestion });
}
