import { AppError } from "../../errors.ts";
import { counted, type DocumentText } from "./document-text.ts";
import { attributeOf, scanXml } from "./scan-xml.ts";
import { readParts } from "./zip-parts.ts";

/** How far an OpenDocument text has been read. */
interface Reading {
  lines: string[];
  text: string;
  /** The level of the heading that is being read; 0: it is a paragraph. */
  heading: number;
  /** Lists around it. */
  lists: number;
  /** The cells of the row around it, so far. */
  row: string[] | undefined;
  pictures: number;
}

/** The text of a text document of LibreOffice and others (OpenDocument): headings, paragraphs, lists and tables. */
export function openDocumentText(file: Uint8Array): DocumentText {
  const parts = readParts(file, (name) => name === "content.xml");
  const reading: Reading = { lines: [], text: "", heading: 0, lists: 0, row: undefined, pictures: 0 };
  for (const piece of scanXml(partOf(parts, "content.xml", "an OpenDocument text"))) {
    if (piece.kind === "text") reading.text += piece.text;
    else {
      if (piece.kind !== "close") enter(reading, piece.name, piece.attributes);
      if (piece.kind !== "open") leave(reading, piece.name);
    }
  }
  return { text: joined(reading.lines), left_out: counted(reading.pictures, "picture") };
}

function enter(reading: Reading, name: string, attributes: string): void {
  switch (name) {
    case "s":
      reading.text += " ".repeat(Math.min(1000, Number(attributeOf(attributes, "c") ?? 1)));
      break;
    case "tab":
      reading.text += "\t";
      break;
    case "line-break":
      reading.text += "\n";
      break;
    case "image":
      reading.pictures += 1;
      break;
    case "list":
      reading.lists += 1;
      break;
    case "h":
      reading.heading = Number(attributeOf(attributes, "outline-level") ?? 1);
      break;
    case "table-row":
      reading.row = [];
      break;
    default:
  }
}

function leave(reading: Reading, name: string): void {
  const { row } = reading;
  if (name === "list") reading.lists -= 1;
  else if (name === "table-cell" && row !== undefined) {
    row.push(reading.text.trim());
    reading.text = "";
  } else if (name === "table-row" && row !== undefined) {
    reading.lines.push(`| ${row.join(" | ")} |`);
    reading.row = undefined;
  } else if (name === "p" || name === "h") endParagraph(reading);
}

function endParagraph(reading: Reading): void {
  // In a table the paragraphs of a cell stay together.
  if (reading.row !== undefined) {
    reading.text += " ";
    return;
  }
  const { heading, lists, lines } = reading;
  const text = reading.text.trim();
  const mark = heading > 0 ? `${"#".repeat(Math.min(6, heading))} ` : lists > 0 ? `${"  ".repeat(lists - 1)}- ` : "";
  if (text !== "") lines.push(mark + text, ...(lists > 0 ? [] : [""]));
  reading.text = "";
  reading.heading = 0;
}

/** The text of a presentation (PowerPoint), slide by slide. */
export function slidesText(file: Uint8Array): DocumentText {
  const parts = readParts(file, (name) => /^ppt\/slides\/slide\d+\.xml$/u.test(name));
  if (parts.size === 0) throw notOf("a presentation");
  const slides = [...parts].toSorted(([one], [other]) => numberIn(one) - numberIn(other));
  let [pictures, charts] = [0, 0];
  const lines = slides.flatMap(([, content], index) => {
    const xml = content.toString("utf8");
    pictures += [...xml.matchAll(/<p:pic[\s/>]/gu)].length;
    charts += [...xml.matchAll(/<c:chart[\s/>]/gu)].length;
    return [`## Slide ${index + 1}`, "", ...paragraphs(xml), ""];
  });
  return { text: joined(lines), left_out: [...counted(pictures, "picture"), ...counted(charts, "chart")] };
}

function paragraphs(xml: string): string[] {
  const found: string[] = [];
  let text = "";
  for (const piece of scanXml(xml)) {
    if (piece.kind === "text") text += piece.text;
    else if (piece.name === "br") text += " ";
    else if (piece.name === "p" && piece.kind === "close") {
      if (text.trim() !== "") found.push(text.trim());
      text = "";
    }
  }
  return found;
}

/** The cells of a workbook (Excel), sheet by sheet, as tables; formulas by the values they had when it was saved. */
export function workbookText(file: Uint8Array): DocumentText {
  const wanted = /^xl\/(?:workbook\.xml|sharedStrings\.xml|worksheets\/sheet\d+\.xml|_rels\/workbook\.xml\.rels)$/u;
  const parts = readParts(file, (name) => wanted.test(name));
  const book = partOf(parts, "xl/workbook.xml", "a workbook");
  const targets = new Map<string, string>();
  for (const piece of scanXml(parts.get("xl/_rels/workbook.xml.rels")?.toString("utf8") ?? "")) {
    if (piece.kind === "text" || piece.name !== "Relationship") continue;
    const target = (attributeOf(piece.attributes, "Target") ?? "").replace(/^\/?(?:xl\/)?/u, "xl/");
    targets.set(attributeOf(piece.attributes, "Id") ?? "", target);
  }
  const shared = sharedStrings(parts.get("xl/sharedStrings.xml")?.toString("utf8") ?? "");
  const lines: string[] = [];
  for (const piece of scanXml(book)) {
    if (piece.kind === "text" || piece.kind === "close" || piece.name !== "sheet") continue;
    const id = /\br:id\s*=\s*["']([^"']*)/u.exec(piece.attributes)?.[1] ?? "";
    const sheet = parts.get(targets.get(id) ?? "")?.toString("utf8");
    lines.push(`## ${attributeOf(piece.attributes, "name") ?? "Sheet"}`, "");
    if (sheet !== undefined) lines.push(...tableRows(sheet, shared), "");
  }
  return { text: joined(lines), left_out: [] };
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

/** Columns that are shown of a row. */
const mostColumns = 200;

function tableRows(xml: string, shared: readonly string[]): string[] {
  const lines: string[] = [];
  let [row, cell]: [string[], { column: number; type: string; text: string } | undefined] = [[], undefined];
  let isFormula = false;
  for (const piece of scanXml(xml)) {
    if (piece.kind === "text") {
      if (cell !== undefined && !isFormula) cell.text += piece.text;
    } else if (piece.name === "f") isFormula = piece.kind === "open";
    else if (piece.name === "row") {
      if (piece.kind === "close" && row.length > 0)
        lines.push(`| ${[...row].map((value) => value ?? "").join(" | ")} |`);
      row = [];
    } else if (piece.name === "c" && piece.kind === "open") {
      const column = columnOf(attributeOf(piece.attributes, "r")) ?? row.length;
      cell = { column, type: attributeOf(piece.attributes, "t") ?? "n", text: "" };
    } else if (piece.name === "c" && piece.kind === "close" && cell !== undefined) {
      const value = cell.type === "s" ? (shared[Number(cell.text)] ?? "") : cell.text.trim();
      if (cell.column < mostColumns)
        row[cell.column] = value.replaceAll("|", String.raw`\|`).replaceAll(/\s*\n\s*/gu, "<br>");
      cell = undefined;
    }
  }
  return lines;
}

/** The place of a column from its letters: A is 0. */
function columnOf(reference: string | undefined): number | undefined {
  const letters = /^([A-Z]{1,3})\d/u.exec(reference ?? "")?.[1];
  if (letters === undefined) return undefined;
  return letters.split("").reduce((sum, letter) => sum * 26 + (letter.codePointAt(0) ?? 0) - 64, 0) - 1;
}

function numberIn(name: string): number {
  return Number(/(\d+)\.xml$/u.exec(name)?.[1] ?? 0);
}

function joined(lines: readonly string[]): string {
  const text = lines
    .join("\n")
    .replaceAll(/\n{3,}/gu, "\n\n")
    .trim();
  return text === "" ? "" : `${text}\n`;
}

function partOf(parts: ReadonlyMap<string, Buffer>, name: string, what: string): string {
  const content = parts.get(name);
  if (content === undefined) throw notOf(what);
  return content.toString("utf8");
}

function notOf(what: string): AppError {
  return new AppError("invalid_format", `It is not ${what}, whatever its name says.`, {
    suggestion: "Look at what the file really is, or ask the user.",
  });
}
