import type { DocumentText } from "../formats/document-format.ts";
import { joined, partOf } from "./office-text.ts";
import { scanXml, type XmlAttributes } from "./scan-xml.ts";
import { readParts } from "../formats/zip-parts.ts";

/** The cells of an Excel workbook as tables, by sheet; formulas as their stored values. */
export function workbookText(file: Uint8Array): DocumentText {
  const wanted =
    /^xl\/(?:workbook\.xml|sharedStrings\.xml|styles\.xml|worksheets\/sheet\d+\.xml|_rels\/workbook\.xml\.rels)$/u;
  const parts = readParts(file, (name) => wanted.test(name));
  const textOf = (name: string): string => parts.get(name)?.toString("utf8") ?? "";
  const book = partOf(parts, "xl/workbook.xml", "a workbook");
  const shared = sharedStrings(textOf("xl/sharedStrings.xml"));
  const dates = {
    styles: dateStyles(textOf("xl/styles.xml")),
    first: /\bdate1904\s*=\s*["'](?:1|true)["']/u.test(book) ? Date.UTC(1904, 0, 1) : Date.UTC(1899, 11, 30),
  };
  const sheets = sheetsOf(book, textOf("xl/_rels/workbook.xml.rels"));
  const lines = sheets.flatMap(({ name, part }) => [`## ${name}`, "", ...tableRows(textOf(part), shared, dates), ""]);
  return { text: joined(lines), left_out: [] };
}

/** The sheets of a workbook, in order, with their parts. */
function sheetsOf(book: string, links: string): { name: string; part: string }[] {
  const targets = new Map<string, string>();
  for (const piece of scanXml(links)) {
    if (piece.kind === "text" || piece.name !== "Relationship") continue;
    const target = (piece.attributes.get("Target") ?? "").replace(/^\/?(?:xl\/)?/u, "xl/");
    targets.set(piece.attributes.get("Id") ?? "", target);
  }
  const sheets: { name: string; part: string }[] = [];
  for (const piece of scanXml(book)) {
    if (piece.kind === "text" || piece.kind === "close" || piece.name !== "sheet") continue;
    const id = piece.attributes.get("id") ?? "";
    sheets.push({ name: piece.attributes.get("name") ?? "Sheet", part: targets.get(id) ?? "" });
  }
  return sheets;
}

function sharedStrings(xml: string): string[] {
  const found: string[] = [];
  let text = "";
  for (const piece of scanXml(xml)) {
    if (piece.kind === "text") text += piece.text;
    else if (piece.name === "si" && piece.kind !== "close") text = "";
    if (piece.kind !== "text" && piece.name === "si" && piece.kind !== "open") found.push(text);
  }
  return found;
}

/** Maximum columns shown of a row. */
const maxColumns = 200;

/** The cell styles that show a number as a date, and the epoch. */
interface Dates {
  styles: ReadonlySet<string>;
  first: number;
}

/** Built-in number formats for dates and times. */
function isDateFormat(id: number, codes: ReadonlyMap<number, string>): boolean {
  if ((id >= 14 && id <= 22) || (id >= 27 && id <= 36) || (id >= 45 && id <= 47) || (id >= 50 && id <= 58)) return true;
  // Quoted and bracketed letters are literal.
  const code = codes.get(id)?.replaceAll(/"[^"]*"|\[[^\]]*\]|\\./gu, "") ?? "";
  return /[ymdhs]/iu.test(code);
}

function dateStyles(xml: string): Set<string> {
  const codes = new Map<number, string>();
  const found = new Set<string>();
  let place: number | undefined;
  for (const piece of scanXml(xml)) {
    if (piece.kind === "text") continue;
    const { name, attributes, kind } = piece;
    const id = Number(attributes.get("numFmtId") ?? 0);
    if (name === "numFmt") codes.set(id, attributes.get("formatCode") ?? "");
    else if (name === "cellXfs") place = kind === "open" ? 0 : undefined;
    else if (name === "xf" && kind !== "close" && place !== undefined) {
      if (isDateFormat(id, codes)) found.add(String(place));
      place += 1;
    }
  }
  return found;
}

/** A number as the date it represents; anything else unchanged. */
function asDate(value: string, first: number): string {
  const days = Number(value);
  if (value === "" || !Number.isFinite(days) || days < 0 || days > 3_000_000) return value;
  const [date = "", time = ""] = new Date(first + Math.round(days * 86_400) * 1000)
    .toISOString()
    .slice(0, 19)
    .split("T");
  if (days < 1) return time;
  return time === "00:00:00" ? date : `${date} ${time}`;
}

/** The cell being read. */
interface Cell {
  column: number;
  type: string;
  style: string;
  text: string;
}

function tableRows(xml: string, shared: readonly string[], dates: Dates): string[] {
  const lines: string[] = [];
  let row: string[] = [];
  let cell: Cell | undefined;
  let isFormula = false;
  for (const piece of scanXml(xml)) {
    if (piece.kind === "text") {
      if (cell !== undefined && !isFormula) cell.text += piece.text;
    } else if (piece.name === "f") isFormula = piece.kind === "open";
    else if (piece.name === "row") {
      if (piece.kind === "close" && row.length > 0)
        lines.push(`| ${Array.from(row, (value) => value ?? "").join(" | ")} |`);
      row = [];
    } else if (piece.name === "c" && piece.kind === "open") cell = cellOf(piece.attributes, row.length);
    else if (piece.name === "c" && piece.kind === "close" && cell !== undefined) {
      if (cell.column < maxColumns) row[cell.column] = valueOf(cell, shared, dates);
      cell = undefined;
    }
  }
  return lines;
}

function cellOf(attributes: XmlAttributes, next: number): Cell {
  return {
    column: columnOf(attributes.get("r")) ?? next,
    type: attributes.get("t") ?? "n",
    style: attributes.get("s") ?? "0",
    text: "",
  };
}

function valueOf({ type, style, text }: Cell, shared: readonly string[], { styles, first }: Dates): string {
  const plain = type === "s" ? (shared[Number(text)] ?? "") : text.trim();
  const value = type === "n" && styles.has(style) ? asDate(plain, first) : plain;
  return value.replaceAll("|", String.raw`\|`).replaceAll(/\s*\n\s*/gu, "<br>");
}

/** A column's index from its letters: A is 0. */
function columnOf(reference: string | undefined): number | undefined {
  const letters = /^([A-Z]{1,3})\d/u.exec(reference ?? "")?.[1];
  if (letters === undefined) return undefined;
  return letters.split("").reduce((sum, letter) => sum * 26 + (letter.codePointAt(0) ?? 0) - 64, 0) - 1;
}
