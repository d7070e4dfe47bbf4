import { z } from "zod";

/** A search result in a common format for all engines. `date` may be empty. */
export const SearchResult = z.object({
  title: z.string(),
  snippet: z.string(),
  url: z.string(),
  date: z.string(),
});
export type SearchResult = z.infer<typeof SearchResult>;

/** A page as reported by an engine; missing fields become empty. */
export interface FoundPage {
  title?: unknown;
  snippet?: unknown;
  url?: unknown;
  date?: unknown;
}

/** Maximum characters of title, snippet, date and URL; longer URLs are dropped. */
const [titleLength, snippetLength, dateLength, maxUrlLength] = [200, 600, 40, 2000];

/**
 * Converts pages to results: unique http(s) URLs, single-line texts without marks and control characters, so that a
 * page can neither end its line nor hide text.
 */
export function toSearchResults(pages: readonly FoundPage[], maxResults: number): SearchResult[] {
  const results = new Map<string, SearchResult>();
  for (const { title, snippet, url, date } of pages) {
    if (results.size >= maxResults) break;
    if (typeof url !== "string" || url.length > maxUrlLength || !URL.canParse(url)) continue;
    const { protocol, href } = new URL(url);
    if ((protocol !== "http:" && protocol !== "https:") || results.has(href)) continue;
    const named = plain(title, titleLength);
    results.set(href, {
      title: named === "" ? new URL(url).hostname : named,
      snippet: plain(snippet, snippetLength),
      url: href,
      date: plain(date, dateLength),
    });
  }
  return [...results.values()];
}

/** Results for the model, one numbered line each. */
export function searchResultsText(results: readonly SearchResult[]): string {
  return results
    .map(({ title, snippet, url, date }, index) => {
      const when = date === "" ? "" : ` | date: ${date}`;
      return `[webpage ${index + 1}] title: ${title} | summary: ${snippet} | URL: ${url}${when}`;
    })
    .join("\n");
}

function plain(value: unknown, length: number): string {
  if (typeof value !== "string") return "";
  const text = value
    .slice(0, length * 10)
    .replaceAll(/<\/?[a-z][^<>]{0,200}>/giu, "")
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
    .trim();
  const characters = Array.from(text.toWellFormed());
  return characters.length <= length ? characters.join("") : `${characters.slice(0, length - 1).join("")}…`;
}
