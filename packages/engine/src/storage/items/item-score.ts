import { valuesAt } from "./item-index.ts";

/** Words of a text, in any case; of Chinese, which has no spaces, each character. */
function wordsOf(text: string): string[] {
  return [
    ...text
      .normalize("NFKC")
      .toLowerCase()
      .matchAll(/\p{Script=Han}|[^\P{L}\p{Script=Han}]+|\p{N}+/gu),
  ].map(([word]) => word);
}

/** Every text and number within a JSON value. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value === "number" || typeof value === "boolean") return [String(value)];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}

/**
 * How well a value fits a query: the share of the query's words that stand in its texts, from 0 to 1; `undefined` for a
 * value that is not to be looked at. `index` says where to look; see `ItemChange`.
 */
export function scoreOf(value: unknown, index: false | readonly string[] | null, query: string): number | undefined {
  if (index === false) return undefined;
  const looked = index === null ? [value] : index.flatMap((path) => valuesAt(value, path));
  const there = new Set(looked.flatMap(textsIn).flatMap(wordsOf));
  const wanted = [...new Set(wordsOf(query))];
  if (wanted.length === 0) return 0;
  return wanted.filter((word) => there.has(word)).length / wanted.length;
}
