/** A range in a document part's source. */
export interface Span {
  start: number;
  end: number;
}

/**
 * A piece of a paragraph's text. `text`: changeable. `element`: a tab or break, removable. `fixed`: a formula or note
 * mark, which stays.
 */
export interface Piece extends Span {
  kind: "text" | "element" | "fixed";
  text: string;
  /** Its run's properties. */
  format: string;
}

/** A paragraph, in a cell or by itself. */
export interface Paragraph extends Span {
  /** The range of its content; equals the paragraph's if that is one empty tag. */
  inside: Span;
  properties: string;
  pieces: Piece[];
  /** Bookmark ends and the like, which may also be outside a paragraph. */
  anchors: string[];
  /** Whether it contains something besides text: a picture, a comment, a tracked deletion. */
  holds: boolean;
}

/** A table cell; `null` for another column that the previous cell spans. */
export type Cell = { properties: string; paragraphs: Paragraph[] } | null;

/** A table; a nested one counts as text of its cell. */
export interface Table extends Span {
  rows: number;
}

/** A line of the text: a paragraph with its heading or list mark, or a table row. */
export type Line =
  | ({ kind: "paragraph"; mark: string; paragraph: Paragraph } & Span)
  | ({ kind: "row"; mark: ""; properties: string; cells: Cell[]; table: Table } & Span);

/** The text of a document. */
export interface WordText {
  lines: Line[];
  /** Where the first paragraph of an empty document would be. */
  begin: number;
}

/** Stand for a break within a line, and for a cell border. Documents rarely contain either. */
export const [lineBreak, cellBorder] = ["␊", "│"];

/** Paragraph marks by style name. */
export type StyleMarks = ReadonlyMap<string, string>;

/** The paragraphs' text for searching, with collapsed white space. */
export function plainText(paragraphs: readonly Paragraph[]): string {
  return paragraphs
    .map(({ pieces }) => pieces.map(({ text }) => text).join(""))
    .filter((text) => text.trim() !== "")
    .join(lineBreak)
    .replaceAll(/\s+/gu, " ")
    .trim();
}

/** The text of a row with these cells. */
export function rowText(cells: readonly string[]): string {
  return `${cellBorder} ${cells.map((cell) => (cell === "" ? cellBorder : `${cell} ${cellBorder}`)).join(" ")}`;
}

/** The text of a line. */
export function lineText(line: Line): string {
  if (line.kind === "paragraph") return line.mark + plainText([line.paragraph]);
  return rowText(line.cells.map((cell) => (cell === null ? "" : plainText(cell.paragraphs))));
}

/** A tag's attribute. */
export function attributeOf(tag: string, prefix: string, name: string): string | undefined {
  return new RegExp(String.raw`\s(?:${prefix})?${name}\s*=\s*["']([^"']*)["']`, "u").exec(tag)?.[1];
}

/** The value of a setting in properties. */
export function valueOf(properties: string, prefix: string, name: string): string | undefined {
  const tag = new RegExp(String.raw`<${prefix}${name}(?=[\s/>])[^>]*>`, "u").exec(properties)?.[0];
  return tag === undefined ? undefined : (attributeOf(tag, prefix, "val") ?? "");
}

/** The mark of a paragraph with these properties. */
export function markOf(properties: string, prefix: string, marks: StyleMarks): string {
  const [now = ""] = properties.split(`<${prefix}pPrChange`);
  const style = marks.get(valueOf(now, prefix, "pStyle") ?? "") ?? "";
  const list = valueOf(now, prefix, "numId");
  if (style.startsWith("#") || list === undefined) return style;
  return list === "0" ? "" : "- ";
}

/** Marks by style: headings, the title, and lists. */
export function styleMarks(styles: string, prefix: string): StyleMarks {
  const marks = new Map<string, string>();
  for (const source of styles.split(new RegExp(String.raw`(?=<${prefix}style[\s>])`, "u")).slice(1)) {
    const id = attributeOf(source.slice(0, source.indexOf(">")), prefix, "styleId") ?? "";
    const name = valueOf(source, prefix, "name") ?? "";
    const level = /^heading ([1-6])$/iu.exec(name)?.[1] ?? /^Heading([1-6])$/u.exec(id)?.[1];
    if (level !== undefined || name === "Title") marks.set(id, `${"#".repeat(Number(level ?? 1))} `);
    else if (valueOf(source, prefix, "numId") !== undefined) marks.set(id, "- ");
  }
  return marks;
}
