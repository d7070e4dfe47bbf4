import { cutToTokens } from "../../../src/context/assembler.ts";
import { extractKeywords, searchTerms } from "./keywords.ts";
import type { SearchHit } from "./search-workspace.ts";
import { priorities, type Collector } from "../../../src/context/collector.ts";
import type { CircuitPlace } from "./circuit-place.ts";

/** Maximum names searched for, lines shown, and tokens. */
const [maxTerms, maxHits, maxTokens] = [20, 10, 2000];

/**
 * Time limit of a search in milliseconds; exceeding it in a large workspace gives no hits, and no warning every turn.
 */
const searchTime = 500;

/**
 * Lines of other files that mention names from the request: devices first, other words last; recently changed files
 * first.
 */
export const searchHits: Collector<CircuitPlace> = searchHitsWithin(searchTime);

/** `searchHits` with another time limit in milliseconds. */
export function searchHitsWithin(time: number): Collector<CircuitPlace> {
  return {
    name: "search_hits",
    title: "Found in the workspace",
    priority: priorities.low,
    reserved: 0,
    collect: (context, signal) => collectHits(context, signal, time),
  };
}

async function collectHits(context: CircuitPlace, signal: AbortSignal, time: number): Promise<string | null> {
  const { circuit_file, request, search, changed = [] } = context;
  if (search === undefined || request === undefined) return null;
  const terms = searchTerms(extractKeywords(request)).slice(0, maxTerms);
  if (terms.length === 0) return null;
  const patterns = terms.map((term) => term.toLowerCase());
  const rank = (text: string): number => {
    const lower = text.toLowerCase();
    const first = patterns.findIndex((pattern) => lower.includes(pattern));
    return first === -1 ? patterns.length : first;
  };
  // The circuit itself is shown in full.
  const hits = (await searchFor(time, signal, (ends) => search(terms, ends)))
    .filter(({ path }) => path !== circuit_file)
    .map((hit) => ({ ...hit, rank: rank(hit.text) }))
    .toSorted(
      (left, right) =>
        left.rank - right.rank || Number(changed.includes(right.path)) - Number(changed.includes(left.path)),
    );
  const lines = hits.slice(0, maxHits).map(({ path, line, text }) => `${path}:${line}: ${text}`);
  return lines.length === 0 ? null : cutToTokens(lines.join("\n"), maxTokens);
}

/** Results within the time limit, else none. A stop is thrown. */
async function searchFor(
  time: number,
  signal: AbortSignal,
  search: (ends: AbortSignal) => Promise<SearchHit[]>,
): Promise<SearchHit[]> {
  const limit = AbortSignal.timeout(time);
  try {
    return await search(AbortSignal.any([signal, limit]));
  } catch (error) {
    signal.throwIfAborted();
    if (limit.aborted) return [];
    throw error;
  }
}
