/**
 * JSON is kept as the text that `JSON.stringify` made. PostgreSQL compares it as `jsonb`, which has no NUL and no half of a
 * surrogate pair: in comparisons both sides have the replacement character for them.
 */

/** An expression that has the JSON of a column as `jsonb`. */
export function asJsonb(column: string): string {
  const replaced = String.raw`regexp_replace(${column}, '\\u(0000|d[89a-f][0-9a-f]{2})', '\\ufffd', 'g')`;
  return String.raw`(CASE WHEN strpos(${column}, '\u') = 0 THEN ${column} ELSE ${replaced} END)::jsonb`;
}

/** A value as the text of a parameter that is compared with `asJsonb`, as `$1::jsonb`. */
export function jsonbText(value: unknown): string {
  return JSON.stringify(value).replaceAll(/\\u(?:0000|d[89a-f][0-9a-f]{2})/gu, String.raw`\ufffd`);
}

/** A text in which PostgreSQL can look for parts in any case. */
export function searchable(text: string): string {
  return text.toLowerCase().toWellFormed().replaceAll("\0", "\ufffd");
}
