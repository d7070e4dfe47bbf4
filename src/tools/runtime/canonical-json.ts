/** JSON with the keys of every object in order, so that the same value has the same text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(inOrder(value));
}

/** Ordered before it is written: a replacer would be called for every value, and takes several times as long. */
function inOrder(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(inOrder);
  // A date, say, writes itself.
  if ("toJSON" in value && typeof value.toJSON === "function") return value;
  const entries = Object.entries(value);
  if (entries.length > 1) entries.sort(([one], [other]) => (one < other ? -1 : 1));
  for (const entry of entries) entry[1] = inOrder(entry[1]);
  return Object.fromEntries(entries);
}
