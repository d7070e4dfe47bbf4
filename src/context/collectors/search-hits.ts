import { cutToTokens } from "../assembler.ts";
import { extractKeywords, searchTerms } from "../keywords.ts";
import { priorities, type Collector } from "./collector.ts";

/** Names that are searched for, lines that are shown, and their tokens at most (CTX-12). */
const [mostTerms, mostHits, mostTokens] = [20, 10, 2000];

/** Lines of other files that name what the request names (CTX-09): devices first, other words last (CIRC-06). */
export const searchHits: Collector = {
  name: "search_hits",
  title: "Found in the workspace",
  priority: priorities.low,
  reserved: 0,
  async collect({ circuit_file, request, search }, signal) {
    if (search === undefined || request === undefined) return null;
    const terms = searchTerms(extractKeywords(request)).slice(0, mostTerms);
    if (terms.length === 0) return null;
    const patterns = terms.map((term) => term.toLowerCase());
    const rank = (text: string): number => {
      const lower = text.toLowerCase();
      const first = patterns.findIndex((pattern) => lower.includes(pattern));
      return first === -1 ? patterns.length : first;
    };
    // The circuit itself is shown whole.
    const hits = (await search(terms, signal))
      .filter(({ path }) => path !== circuit_file)
      .map((hit) => ({ ...hit, rank: rank(hit.text) }))
      .toSorted((left, right) => left.rank - right.rank);
    const lines = hits.slice(0, mostHits).map(({ path, line, text }) => `${path}:${line}: ${text}`);
    return lines.length === 0 ? null : cutToTokens(lines.join("\n"), mostTokens);
  },
};
