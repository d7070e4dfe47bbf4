import { cutToTokens } from "../../../src/context/assembler.ts";
import { layer } from "../../../src/context/layers.ts";
import { AppError, errorMessage, isAppError } from "@millrace/engine/errors/errors";
import { searchResultsText, type SearchResult } from "@millrace/models/messages/search-result";
import type { TurnFindings, TurnSource, TurnStart } from "../../../src/toolkits/toolkit.ts";
import { webKey } from "../open.ts";
import { searchResults } from "../prompts/search-results.ts";
import type { WebSearch } from "./web-search.ts";

const nothing: TurnFindings = { layer: null, sources: [] };

/**
 * Searches the web for the user's message before the model call, in runs with `web_search: "general"`. A failing search
 * becomes an event and a warning, and the turn continues without results.
 */
export const searchAhead: TurnSource = {
  isWanted: ({ web_search }) => web_search === "general",
  async find(turn, signal) {
    const query = turn.request.trim();
    if (query === "") return nothing;
    const results = await resultsFor(query, turn, signal);
    if (results.length === 0) return nothing;
    const values = { query: query.slice(0, 200).toWellFormed(), results: searchResultsText(results) };
    const text = cutToTokens(turn.prompts.text(searchResults, values), turn.tokensFor("web_search"));
    // Pages the model has not seen are not sources of its answer.
    if (text === "") return nothing;
    return { layer: { ...layer("web_search", "Found on the web", text), isOptional: true }, sources: results };
  },
};

async function resultsFor(
  query: string,
  { services, isChosen, emit, warn }: TurnStart,
  signal: AbortSignal,
): Promise<SearchResult[]> {
  const engine = isChosen ? services.find(webKey)?.search : undefined;
  try {
    const search = engine ?? notSetUp();
    emit({ type: "web_search_started", phase: "searching", engine: search.engine, query: query.slice(0, 200) });
    const results = await search.search(query, signal);
    emit({ type: "web_search_complete", engine: search.engine, count: results.length, results });
    return results;
  } catch (error) {
    signal.throwIfAborted();
    const failed = { engine: engine?.engine ?? null, error_type: isAppError(error) ? error.code : "execution_failed" };
    const message = errorMessage(error);
    const suggestion = isAppError(error) ? (error.suggestion ?? null) : null;
    warn({ ...failed, reason: message, suggestion }, "web_search_failed");
    emit({ type: "web_search_error", ...failed, message, suggestion });
    return [];
  }
}

function notSetUp(): WebSearch {
  throw new AppError("config", "No search engine is set up, or the toolkit web is off.", {
    suggestion: "GET /web-search says how it is done.",
  });
}
