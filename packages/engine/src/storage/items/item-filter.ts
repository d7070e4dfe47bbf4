import { AppError } from "../../errors/errors.ts";
import type { JsonObject } from "../records.ts";

/** What an operator of a filter asks of a value. */
const operators = {
  $eq: (value, wanted) => equal(value, wanted),
  $ne: (value, wanted) => !equal(value, wanted),
  $gt: (value, wanted) => (order(value, wanted) ?? 0) > 0,
  $gte: (value, wanted) => (order(value, wanted) ?? -1) >= 0,
  $lt: (value, wanted) => (order(value, wanted) ?? 0) < 0,
  $lte: (value, wanted) => (order(value, wanted) ?? 1) <= 0,
  $in: (value, wanted) => Array.isArray(wanted) && wanted.some((one) => equal(value, one)),
  $nin: (value, wanted) => !Array.isArray(wanted) || !wanted.some((one) => equal(value, one)),
} satisfies Record<string, (value: unknown, wanted: unknown) => boolean>;

function isOperator(name: string): name is keyof typeof operators {
  return Object.hasOwn(operators, name);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether two JSON values are the same; the order of keys does not count. */
function equal(one: unknown, other: unknown): boolean {
  if (Array.isArray(one)) {
    return Array.isArray(other) && one.length === other.length && one.every((item, at) => equal(item, other[at]));
  }
  if (isObject(one)) {
    const keys = Object.keys(one);
    return (
      isObject(other) &&
      keys.length === Object.keys(other).length &&
      keys.every((key) => Object.hasOwn(other, key) && equal(one[key], other[key]))
    );
  }
  return one === other;
}

/** Below zero when `one` comes first; numbers, also those written as texts, by size, other texts by letters; else nothing. */
function order(one: unknown, other: unknown): number | undefined {
  const sizes = [one, other].map((value) => (typeof value === "string" && value.trim() === "" ? NaN : sizeOf(value)));
  const [size = NaN, otherSize = NaN] = sizes;
  if (!Number.isNaN(size) && !Number.isNaN(otherSize)) return Math.sign(size - otherSize);
  if (typeof one !== "string" || typeof other !== "string") return undefined;
  return one < other ? -1 : Number(one > other);
}

function sizeOf(value: unknown): number {
  return typeof value === "number" || typeof value === "string" ? Number(value) : NaN;
}

/**
 * Whether a value is what a filter asks for: each field equal to the one named, or as its operators say (`$eq`, `$ne`,
 * `$gt`, `$gte`, `$lt`, `$lte`, `$in`, `$nin`), within objects field by field.
 */
export function matchesFilter(value: unknown, filter: JsonObject): boolean {
  return Object.entries(filter).every(([field, wanted]) =>
    matches(isObject(value) && Object.hasOwn(value, field) ? value[field] : undefined, wanted),
  );
}

function matches(value: unknown, wanted: unknown): boolean {
  if (!isObject(wanted)) return equal(value, wanted);
  const asked = Object.entries(wanted);
  if (!asked.some(([name]) => name.startsWith("$"))) return isObject(value) && matchesFilter(value, wanted);
  return asked.every(([name, operand]) => isOperator(name) && operators[name](value, operand));
}

/** Refuses a filter with an operator that does not exist, or among fields, with `invalid_parameter`. */
export function checkFilter(filter: JsonObject, path = "filter"): void {
  for (const [field, wanted] of Object.entries(filter)) {
    if (field.startsWith("$")) throw wrongFilter(`${path}: ${field} has to stand below a field`);
    if (!isObject(wanted)) continue;
    const names = Object.keys(wanted);
    if (!names.some((name) => name.startsWith("$"))) {
      checkFilter(wanted, `${path}.${field}`);
      continue;
    }
    const unknown = names.find((name) => !isOperator(name));
    if (unknown !== undefined) throw wrongFilter(`${path}.${field}: there is no operator ${JSON.stringify(unknown)}`);
  }
}

function wrongFilter(message: string): AppError {
  const names = Object.keys(operators).join(", ");
  return new AppError("invalid_parameter", `${message}.`, { suggestion: `The operators are ${names}.` });
}

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
function valuesAt(value: unknown, path: string): unknown[] {
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
const [maxTexts, maxTextLength] = [100, 20_000];

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
    .slice(0, maxTexts)
    .map((text) => text.slice(0, maxTextLength).toWellFormed());
}

/** A vector of the same direction and the length 1; one without a direction stays as it is. */
export function unitVector(vector: Float32Array): Float32Array {
  const length = Math.sqrt(cosineSimilarity(vector, vector));
  return length === 0 ? vector : vector.map((number) => number / length);
}

/** How near two vectors of the length 1 are in direction, from -1 to 1 (their cosine); 0 where they do not belong together. */
export function cosineSimilarity(one: Float32Array, other: Float32Array): number {
  if (one.length !== other.length) return 0;
  let product = 0;
  for (let place = 0; place < one.length; place += 1) product += (one[place] ?? 0) * (other[place] ?? 0);
  return product;
}
