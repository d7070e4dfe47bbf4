import type { JsonObject } from "./records.ts";

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Whether JSON `value` contains JSON `filter` as PostgreSQL's `@>` means it, which the platform's searches are built on:
 * every key of an object with a contained value, every element of an array in some element, anything else equal.
 */
export function contains(value: unknown, filter: unknown): boolean {
  if (Array.isArray(filter)) {
    return Array.isArray(value) && filter.every((wanted) => value.some((element) => contains(element, wanted)));
  }
  if (isObject(filter)) {
    return (
      isObject(value) &&
      Object.entries(filter).every(([key, wanted]) => Object.hasOwn(value, key) && contains(value[key], wanted))
    );
  }
  return value === filter;
}
