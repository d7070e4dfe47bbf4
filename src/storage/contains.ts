import { AppError } from "../errors.ts";
import type { JsonObject } from "./records.ts";

/** Pairs of objects and lists in lists that one look compares at most: two long lists of them would hold up everybody. */
const mostPairs = 1_000_000;

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Whether JSON `value` contains JSON `filter` as PostgreSQL's `@>` means it, which the platform's searches are built on:
 * every key of an object with a contained value, every element of an array in some element, anything else equal. Throws
 * `too_large` for lists that are too long to be compared.
 */
export function contains(value: unknown, filter: unknown): boolean {
  return containsWithin(value, filter, { pairs: 0 });
}

function containsWithin(value: unknown, filter: unknown, spent: { pairs: number }): boolean {
  if (Array.isArray(filter)) return Array.isArray(value) && listContains(value, filter, spent);
  if (isObject(filter)) {
    return (
      isObject(value) &&
      Object.entries(filter).every(
        ([key, wanted]) => Object.hasOwn(value, key) && containsWithin(value[key], wanted, spent),
      )
    );
  }
  return value === filter;
}

function listContains(list: readonly unknown[], filter: readonly unknown[], spent: { pairs: number }): boolean {
  let known: Set<unknown> | undefined;
  return filter.every((wanted) => {
    if (typeof wanted !== "object" || wanted === null) {
      if (known === undefined) spend(spent, list.length);
      known ??= new Set(list);
      return known.has(wanted);
    }
    return list.some((element) => {
      spend(spent, 1);
      return containsWithin(element, wanted, spent);
    });
  });
}

function spend(spent: { pairs: number }, pairs: number): void {
  spent.pairs += pairs;
  if (spent.pairs > mostPairs) throw tooLong();
}

function tooLong(): AppError {
  return new AppError("too_large", `More than ${mostPairs} pairs of elements of lists would have to be compared.`, {
    suggestion: "Filter by fewer elements of a list.",
  });
}
