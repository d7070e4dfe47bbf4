/** A value of a row; null is an empty one. */
export type CsvValue = string | number | null;

/** Rows as CSV (RFC 4180) below the names of their columns. */
export function toCsv<Name extends string>(
  columns: readonly Name[],
  rows: readonly Readonly<Record<Name, CsvValue>>[],
): string {
  const lines = rows.map((row) => columns.map((name) => cell(row[name])).join(","));
  return [columns.join(","), ...lines, ""].join("\r\n");
}

/** Texts are quoted unless they are plain words; those that a spreadsheet would take for a formula are kept from that. */
function cell(value: CsvValue): string {
  if (value === null) return "";
  if (typeof value === "number" || /^\w+$/u.test(value)) return String(value);
  return `"${value.replaceAll('"', '""').replace(/^(?=[=+\-@])/u, "'")}"`;
}
