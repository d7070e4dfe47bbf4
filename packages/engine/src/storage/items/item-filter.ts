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
