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

/** What stands at a path such as `notes[*].text`, `authors[-1]` or `$`, the whole. */
function at(value: unknown, steps: readonly string[]): unknown[] {
  const [step, ...rest] = steps;
  if (step === undefined) return [value];
  if (typeof value !== "object" || value === null) return [];
  if (step === "*") return Object.values(value).flatMap((inner) => at(inner, rest));
  const found: unknown = Array.isArray(value)
    ? value.at(Number(step))
    : Object.entries(value).find(([name]) => name === step)?.[1];
  return found === undefined ? [] : at(found, rest);
}

function stepsOf(path: string): string[] {
  return path === "$"
    ? []
    : path.split(/[.[\]]+/u).filter((step, place) => step !== "" && !(place === 0 && step === "$"));
}

/**
 * How well a value fits a query: the share of the query's words that stand in its texts, from 0 to 1; `undefined` for a
 * value that is not to be looked at. `index` says where to look; see `ItemChange`.
 */
export function scoreOf(value: unknown, index: false | readonly string[] | null, query: string): number | undefined {
  if (index === false) return undefined;
  const looked = index === null ? [value] : index.flatMap((path) => at(value, stepsOf(path)));
  const there = new Set(looked.flatMap(textsIn).flatMap(wordsOf));
  const wanted = [...new Set(wordsOf(query))];
  if (wanted.length === 0) return 0;
  return wanted.filter((word) => there.has(word)).length / wanted.length;
}
