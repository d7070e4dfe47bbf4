/** A place in the source of a part of a document. */
export interface Span {
  start: number;
  end: number;
}

/**
 * A piece of a paragraph's text. `text`: one that can be changed. `element`: a tab or a break, which can go. `fixed`: a
 * formula or the mark of a note, which stays.
 */
export interface Piece extends Span {
  kind: "text" | "element" | "fixed";
  text: string;
  /** The properties of its run. */
  format: string;
}

/** A paragraph, in a cell or by itself. */
export interface Paragraph extends Span {
  /** Where its content begins and ends; the same as `start` and `end` where it is one empty tag. */
  inside: Span;
  properties: string;
  pieces: Piece[];
  /** Ends of bookmarks and the like, which stand as well beside a paragraph. */
  anchors: string[];
  /** Something beside text is in it: a picture, a comment, what was deleted while changes were tracked. */
  holds: boolean;
}

/** A cell of a table; `null` stands for a column more that the cell before it covers. */
export type Cell = { properties: string; paragraphs: Paragraph[] } | null;

/** A table of a document; one inside of another's cell counts as text of that. */
export interface Table extends Span {
  rows: number;
}

/** A line of the text: a paragraph with the mark of a heading or a list, or a row of a table. */
export type Line =
  | ({ kind: "paragraph"; mark: string; paragraph: Paragraph } & Span)
  | ({ kind: "row"; mark: ""; properties: string; cells: Cell[]; table: Table } & Span);

/** The text of a document. */
export interface WordText {
  lines: Line[];
  /** Where the first paragraph of a document without any would stand. */
  begin: number;
}

/** What stands in a line for a break, and between the cells of a row. Neither is likely to be text of a document. */
export const [lineBreak, cellBorder] = ["␊", "│"];

/** Marks of paragraphs by the names of their styles. */
export type StyleMarks = ReadonlyMap<string, string>;

/** The text of these paragraphs as it is searched: one blank for any number. */
export function plainText(paragraphs: readonly Paragraph[]): string {
  return paragraphs
    .map(({ pieces }) => pieces.map(({ text }) => text).join(""))
    .filter((text) => text.trim() !== "")
    .join(lineBreak)
    .replaceAll(/\s+/gu, " ")
    .trim();
}

/** A row of these cells. */
export function rowText(cells: readonly string[]): string {
  return `${cellBorder} ${cells.map((cell) => (cell === "" ? cellBorder : `${cell} ${cellBorder}`)).join(" ")}`;
}

/** What a line says. */
export function lineText(line: Line): string {
  if (line.kind === "paragraph") return line.mark + plainText([line.paragraph]);
  return rowText(line.cells.map((cell) => (cell === null ? "" : plainText(cell.paragraphs))));
}

/** An attribute of a tag. */
export function attributeOf(tag: string, prefix: string, name: string): string | undefined {
  return new RegExp(String.raw`\s(?:${prefix})?${name}\s*=\s*["']([^"']*)["']`, "u").exec(tag)?.[1];
}

/** The value of a setting among properties. */
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

/** The marks that styles give: of headings, the title, and lists. */
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
