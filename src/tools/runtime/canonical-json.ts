/** JSON with sorted keys, so that equal values give equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(inOrder(value));
}

/** Sorted before serializing: a replacer would be called for every value and is several times slower. */
function inOrder(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(inOrder);
  // Dates, for example, serialize themselves.
  if ("toJSON" in value && typeof value.toJSON === "function") return value;
  const entries = Object.entries(value);
  if (entries.length > 1) entries.sort(([one], [other]) => (one < other ? -1 : 1));
  for (const entry of entries) entry[1] = inOrder(entry[1]);
  return Object.fromEntries(entries);
}
