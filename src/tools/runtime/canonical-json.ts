/** JSON with the keys of every object in order, so that the same value has the same text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) => {
    if (typeof item !== "object" || item === null || Array.isArray(item)) return item;
    return Object.fromEntries(Object.entries(item).toSorted(([one], [other]) => (one < other ? -1 : 1)));
  });
}
