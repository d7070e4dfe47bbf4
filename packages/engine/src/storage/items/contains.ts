import { AppError } from "../../errors/errors.ts";
import type { JsonObject } from "../records.ts";

/** Comparisons of keys and elements that one look makes at most: two long lists of objects would hold up everybody. */
const maxComparisons = 1_000_000;
/** Plain elements of a list that are looked up in the time of one other comparison. */
const plainPerComparison = 10;

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Whether JSON `value` contains JSON `filter` as PostgreSQL's `@>` means it, which the platform's searches are built
 * on: every key of an object with a contained value, every element of an array in some element, anything else equal.
 * Throws `too_large` for lists that are too long to be compared.
 */
export function contains(value: unknown, filter: unknown): boolean {
  return containsWithin(value, filter, { comparisons: 0 });
}

interface Spent {
  comparisons: number;
}

function containsWithin(value: unknown, filter: unknown, spent: Spent): boolean {
  if (Array.isArray(filter)) return Array.isArray(value) && listContains(value, filter, spent);
  if (isObject(filter)) return isObject(value) && objectContains(value, filter, spent);
  return value === filter;
}

function objectContains(value: JsonObject, filter: JsonObject, spent: Spent): boolean {
  const keys = Object.keys(filter);
  spend(spent, keys.length);
  return keys.every((key) => Object.hasOwn(value, key) && containsWithin(value[key], filter[key], spent));
}

function listContains(list: readonly unknown[], filter: readonly unknown[], spent: Spent): boolean {
  let plain: Set<unknown> | undefined;
  return filter.every((wanted) => {
    if (typeof wanted === "object" && wanted !== null) {
      return list.some((element) => {
        spend(spent, 1);
        return containsWithin(element, wanted, spent);
      });
    }
    if (plain === undefined) spend(spent, list.length / plainPerComparison);
    plain ??= new Set(list);
    return plain.has(wanted);
  });
}

function spend(spent: Spent, comparisons: number): void {
  spent.comparisons += comparisons;
  if (spent.comparisons <= maxComparisons) return;
  throw new AppError("too_large", `More than ${maxComparisons} elements of lists would have to be compared.`, {
    suggestion: "Filter by fewer elements of a list.",
  });
}
