import { AppError } from "@millrace/engine/errors/errors";
import type { SearchSettings } from "@millrace/engine/config/web-settings";
import { searchEngines } from "./search-engines.ts";
import { toSearchResults, type SearchResult } from "@millrace/models/messages/search-result";
import { webGet, type WebAnswer } from "@millrace/engine/net/web-get";
import type { WebRules } from "@millrace/engine/net/checked-agent";

/** Milliseconds for an engine, maximum bytes of its response, and characters of a query. */
const [patience, maxAnswerLength, maxQueryLength] = [10_000, 2 * 1024 * 1024, 400];

/** Number of results: default and maximum. */
export const [defaultPages, maxPages] = [5, 10];

/** The general search with the engine chosen by the operator. */
export interface WebSearch {
  /** Its name in the settings, and its display name. */
  engine: string;
  title: string;
  /**
   * Pages for a query; may be empty. Throws AppErrors: `auth`, `rate_limit`, `timeout`, `network`, `server`,
   * `api_error`, `invalid_format`, and others of `webGet`; and the signal's reason. No message contains the key.
   */
  search(query: string, signal: AbortSignal, count?: number): Promise<SearchResult[]>;
}

/** A search with an engine. Its host may be in a private network if the environment configured it. */
export function createWebSearch(settings: SearchSettings, rules: WebRules, within: number = patience): WebSearch {
  const engine = searchEngines[settings.engine];
  const ownHost = new URL(settings.address);
  const hostAndPort = ownHost.port === "" ? ownHost.hostname : ownHost.host;
  const allowed = settings.isMoved === true ? rules.allowed : [...rules.allowed, hostAndPort];
  return {
    engine: settings.engine,
    title: engine.title,
    async search(query, signal, count = defaultPages) {
      const wanted = engine.request(oneLine(query), Math.min(count, maxPages), settings);
      const headers = { accept: "application/json", ...wanted.headers };
      // Redirects are refused, so that the key goes only to the engine's own address.
      const request = { ...wanted, headers, redirects: 0, limit: maxAnswerLength, within };
      const answer = await webGet(request, { ...rules, allowed }, signal);
      if (answer.status !== 200) throw engine.failure?.(answer) ?? refused(engine.title, answer.status);
      const pages = engine.read(parse(answer, engine.title));
      if (pages === undefined) throw unreadable(engine.title);
      return toSearchResults(pages, count);
    },
  };
}

/** A query in the engines' form: one line, cut at a word if too long. */
function oneLine(query: string): string {
  const line = query
    .toWellFormed()
    .replaceAll(/[\p{Cc}\s]+/gu, " ")
    .trim();
  if (line.length <= maxQueryLength) return line;
  const begin = line.slice(0, maxQueryLength);
  const word = begin.lastIndexOf(" ");
  return (word > maxQueryLength / 2 ? begin.slice(0, word) : begin).toWellFormed();
}

function parse({ body }: WebAnswer, title: string): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    throw unreadable(title);
  }
}

function unreadable(title: string): AppError {
  return new AppError("invalid_format", `${title} answered in a form that is not its own.`, {
    suggestion: "Check the address of the search engine.",
  });
}

function refused(title: string, status: number): AppError {
  if (status === 401 || status === 403) {
    return new AppError("auth", `${title} refused the key (${status}).`, {
      suggestion: "Check the key of the search engine; GET /web-search says how to get one.",
    });
  }
  if (status === 429) {
    return new AppError("rate_limit", `${title} was asked too often.`, { suggestion: "Search again in a while." });
  }
  if (status >= 500) {
    return new AppError("server", `${title} failed (${status}).`, { suggestion: "Search again in a while." });
  }
  return new AppError("api_error", `${title} did not take the search (${status}).`, {
    suggestion: "Check the settings of the search engine.",
  });
}
