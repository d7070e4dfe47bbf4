/** How a field of an item is compared, as a person says it and as the server takes it. */
export const comparisons = {
  is: "$eq",
  isNot: "$ne",
  more: "$gt",
  atLeast: "$gte",
  less: "$lt",
  atMost: "$lte",
} as const;
/** One of them. */
export type Comparison = keyof typeof comparisons;

/** What a field of an item has to be. */
export interface Condition {
  /** Its name; dots lead to fields within it. */
  field: string;
  comparison: Comparison;
  /** As it was written: JSON, or else a text. */
  value: string;
}

/** What was written as a value: a number, `true`, `null`, a list; all else is a text. */
export function valueOf(written: string): unknown {
  try {
    return JSON.parse(written);
  } catch {
    return written;
  }
}

type Filter = Record<string, unknown>;

function isFilter(value: unknown): value is Filter {
  return typeof value === "object" && value !== null;
}

/** The filter of a search for items of which all conditions are true; those without a field say nothing. */
export function filterOf(conditions: readonly Condition[]): Filter | undefined {
  const filter: Filter = {};
  for (const { field, comparison, value } of conditions) {
    const names = field.split(".").map((name) => name.trim());
    if (names.includes("")) continue;
    let level = filter;
    for (const name of names) {
      const known = level[name];
      const next: Filter = isFilter(known) ? known : {};
      level[name] = next;
      level = next;
    }
    level[comparisons[comparison]] = valueOf(value.trim());
  }
  return Object.keys(filter).length === 0 ? undefined : filter;
}
