import { z } from "zod";

/** One page that a search has found, in the form that all engines are brought into. `date` may be empty. */
export const SearchResult = z.object({
  title: z.string(),
  snippet: z.string(),
  url: z.string(),
  date: z.string(),
});
export type SearchResult = z.infer<typeof SearchResult>;

/** What an engine says of a page, under whatever names; what is missing is empty. */
export interface FoundPage {
  title?: unknown;
  snippet?: unknown;
  url?: unknown;
  date?: unknown;
}

/** Characters of a title, a snippet and a date that are kept. An address that is longer than it may be is no use cut. */
const [titleLength, snippetLength, dateLength, longestUrl] = [200, 600, 40, 2000];

/**
 * Pages as results: each address once and only of the web, texts on one line, without marks and control characters, so
 * that a page can neither end its own line nor hide what it says.
 */
export function toSearchResults(pages: readonly FoundPage[], most: number): SearchResult[] {
  const results = new Map<string, SearchResult>();
  for (const { title, snippet, url, date } of pages) {
    if (results.size >= most) break;
    if (typeof url !== "string" || url.length > longestUrl || !URL.canParse(url)) continue;
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

/** The results as a model reads them: one line each, numbered. */
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
