import type { JsonObject } from "../records.ts";

/** By what items are found that mean the same as a query (`store.index` of langgraph.json). */
export interface ItemIndex {
  /** Who makes the vectors, and of what; vectors that others have made are made anew. */
  madeBy: string;
  /** Where the texts stand that are embedded, unless an item says otherwise; `$`: the whole value, as JSON. */
  fields: readonly string[];
  /** A vector for each text. Throws AppErrors, and the signal's reason. */
  embed(texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]>;
  /** Told that items could not be embedded: they are kept, and embedded when something is looked for among them, unless it is they that are refused. */
  onFailure(error: unknown, items: number): void;
}

/** What stands at a path such as `notes[*].text`, `authors[-1]` or `$`, the whole. */
export function valuesAt(value: unknown, path: string): unknown[] {
  const steps = path.split(/[.[\]]+/u).filter((step, place) => step !== "" && !(place === 0 && step === "$"));
  return at(value, path === "$" ? [] : steps);
}

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

/** Texts of one item that are embedded at most, and characters of one text. */
const [mostTexts, longestText] = [100, 20_000];

/** The texts of an item that are embedded: at the item's own paths, else at those of the index; none for `false`. */
export function textsToEmbed(
  value: JsonObject,
  index: false | readonly string[] | null,
  fields: readonly string[],
): string[] {
  if (index === false) return [];
  return (index ?? fields)
    .flatMap((path) => valuesAt(value, path))
    .map((found) => (typeof found === "string" ? found : JSON.stringify(found)))
    .filter((text) => text.trim() !== "")
    .slice(0, mostTexts)
    .map((text) => text.slice(0, longestText).toWellFormed());
}

/** A vector of the same direction and the length 1; one without a direction stays as it is. */
export function unitVector(vector: Float32Array): Float32Array {
  const length = Math.sqrt(nearness(vector, vector));
  return length === 0 ? vector : vector.map((number) => number / length);
}

/** How near two vectors of the length 1 are in direction, from -1 to 1 (their cosine); 0 where they do not belong together. */
export function nearness(one: Float32Array, other: Float32Array): number {
  if (one.length !== other.length) return 0;
  let product = 0;
  for (let place = 0; place < one.length; place += 1) product += (one[place] ?? 0) * (other[place] ?? 0);
  return product;
}
