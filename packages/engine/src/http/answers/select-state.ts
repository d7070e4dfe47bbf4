/** The beginning of a field that names one key of the values. */
const ofValues = "values.";

/**
 * Only the fields of a ThreadState that were asked for; `values.<key>` is one key of its values. All of them when
 * nothing was asked for, `values` as a whole when that was.
 */
export function selectState(state: object, fields: readonly string[] | null | undefined): object {
  if (fields === null || fields === undefined) return state;
  const entries = new Map<string, unknown>(Object.entries(state));
  const chosen = [...entries].filter(([name]) => fields.includes(name));
  const keys = fields.filter((field) => field.startsWith(ofValues)).map((field) => field.slice(ofValues.length));
  if (fields.includes("values") || keys.length === 0) return Object.fromEntries(chosen);
  const values = Object.entries(entries.get("values") ?? {}).filter(([key]) => keys.includes(key));
  return Object.fromEntries([["values", Object.fromEntries(values)], ...chosen]);
}
