import { AppError } from "@millrace/engine/errors/errors";
import { counted, type DocumentText } from "../formats/document-format.ts";
import { scanXml, type XmlAttributes } from "./scan-xml.ts";
import { readParts } from "../formats/zip-parts.ts";

/** The state of reading an OpenDocument text. */
interface Reading {
  lines: string[];
  text: string;
  /** The current heading's level; 0 for a paragraph. */
  heading: number;
  /** List nesting. */
  lists: number;
  /** Note nesting; notes are in the middle of a paragraph. */
  notes: number;
  /** The current row's cells so far. */
  row: string[] | undefined;
  pictures: number;
}

/** The text of an OpenDocument text (LibreOffice and others): headings, paragraphs, lists and tables. */
export function openDocumentText(file: Uint8Array): DocumentText {
  const parts = readParts(file, (name) => name === "content.xml");
  const reading: Reading = { lines: [], text: "", heading: 0, lists: 0, notes: 0, row: undefined, pictures: 0 };
  for (const piece of scanXml(partOf(parts, "content.xml", "an OpenDocument text"))) {
    if (piece.kind === "text") reading.text += piece.text;
    else {
      if (piece.kind !== "close") enter(reading, piece.name, piece.attributes);
      if (piece.kind !== "open") leave(reading, piece.name);
    }
  }
  return { text: joined(reading.lines), left_out: counted(reading.pictures, "picture") };
}

function enter(reading: Reading, name: string, attributes: XmlAttributes): void {
  switch (name) {
    case "s":
      reading.text += " ".repeat(Math.min(1000, Number(attributes.get("c") ?? 1)));
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
    case "note-body":
      reading.notes += 1;
      reading.text += " [";
      break;
    case "h":
      reading.heading = Number(attributes.get("outline-level") ?? 1);
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
  else if (name === "note-body") {
    reading.notes -= 1;
    reading.text = `${reading.text.trimEnd()}]`;
  } else if (name === "table-cell" && row !== undefined) {
    row.push(reading.text.trim());
    reading.text = "";
  } else if (name === "table-row" && row !== undefined) {
    reading.lines.push(`| ${row.join(" | ")} |`);
    reading.row = undefined;
  } else if (name === "p" || name === "h") endParagraph(reading);
}

function endParagraph(reading: Reading): void {
  // Within a cell or a note, paragraphs are joined.
  if (reading.row !== undefined || reading.notes > 0) {
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

/** The text of a PowerPoint presentation by slide. */
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

/** The state of reading a slide. */
interface Slide {
  found: string[];
  text: string;
  isText: boolean;
  row: string[] | undefined;
}

function paragraphs(xml: string): string[] {
  const slide: Slide = { found: [], text: "", isText: false, row: undefined };
  for (const piece of scanXml(xml)) {
    if (piece.kind === "text") slide.text += slide.isText ? piece.text : "";
    else if (piece.kind === "close") endOnSlide(slide, piece.name);
    else if (piece.name === "t") slide.isText = piece.kind === "open";
    else if (piece.name === "br") slide.text += " ";
    else if (piece.name === "tr") slide.row = [];
  }
  return slide.found;
}

function endOnSlide(slide: Slide, name: string): void {
  const { row } = slide;
  if (name === "t") slide.isText = false;
  else if (name === "tc") row?.push(slide.text.trim());
  else if (name === "tr") {
    slide.found.push(`| ${(row ?? []).join(" | ")} |`);
    slide.row = undefined;
  } else if (name === "p" && row === undefined && slide.text.trim() !== "") slide.found.push(slide.text.trim());
  // Paragraphs of a cell are joined.
  if (name === "tc" || (name === "p" && row === undefined)) slide.text = "";
}

function numberIn(name: string): number {
  return Number(/(\d+)\.xml$/u.exec(name)?.[1] ?? 0);
}

/** Joins lines, with at most one empty line in between. */
export function joined(lines: readonly string[]): string {
  const text = lines
    .join("\n")
    .replaceAll(/\n{3,}/gu, "\n\n")
    .trim();
  return text === "" ? "" : `${text}\n`;
}

/** A document part; throws `invalid_format` if missing: the document has another format. */
export function partOf(parts: ReadonlyMap<string, Buffer>, name: string, what: string): string {
  const content = parts.get(name);
  if (content === undefined) throw notOf(what);
  return content.toString("utf8");
}

function notOf(what: string): AppError {
  return new AppError("invalid_format", `It is not ${what}, whatever its name says.`, {
    suggestion: "Look at what the file really is, or ask the user.",
  });
}
