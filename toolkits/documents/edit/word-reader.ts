import { AppError } from "@millrace/engine/errors/errors";
import { mathText } from "../read/equations.ts";
import {
  attributeOf,
  type Cell,
  type Line,
  lineBreak,
  markOf,
  type Paragraph,
  type Piece,
  plainText,
  type Span,
  type StyleMarks,
  type Table,
  valueOf,
  type WordText,
} from "./word-lines.ts";
import { type XmlTag, xmlTags, xmlText } from "./xml-tags.ts";

/** Elements whose content is not read. */
const closed = new Set([
  "drawing",
  "pict",
  "object",
  "del",
  "moveFrom",
  "pPr",
  "rPr",
  "tcPr",
  "trPr",
  "sdtPr",
  "fldSimple",
  "ruby",
  "oMath",
  "AlternateContent",
]);
/** Paragraph contents that are not lost with its text. */
const plain = new Set(["r", "t", "tab", "br", "cr", "noBreakHyphen", "softHyphen", "ins", "moveTo", "hyperlink"]);
const unimportant = new Set(["rPr", "pPr", "proofErr", "lastRenderedPageBreak", "smartTag"]);
const anchor = /(?:Range|bookmark|perm)(?:Start|End)$/u;
const characters: Record<string, string> = { tab: "\t", cr: lineBreak, noBreakHyphen: "\u2011", softHyphen: "\u00AD" };

/** The lines of a Word document's main part. `prefix` is its tag prefix, such as `w:`. Throws `invalid_format`. */
export function wordLines(xml: string, prefix: string, marks: StyleMarks): WordText {
  const reader = new WordReader(xml, prefix, marks);
  for (const tag of xmlTags(xml)) reader.take(tag);
  return reader.end();
}

/** Reads a document's tags in sequence. */
class WordReader {
  readonly #xml: string;
  readonly #prefix: string;
  readonly #marks: StyleMarks;
  readonly #lines: Line[] = [];
  #begin = 0;
  #notes = 0;
  /** The current table nesting. */
  #depth = 0;
  #format = "";
  #text: XmlTag | undefined;
  #paragraph: Paragraph | undefined;
  #cell: NonNullable<Cell> | undefined;
  #row: (Line & { kind: "row" }) | undefined;
  #table: Table | undefined;
  #skipped: { name: string; start: number; depth: number } | undefined;

  constructor(xml: string, prefix: string, marks: StyleMarks) {
    this.#xml = xml;
    this.#prefix = prefix;
    this.#marks = marks;
  }

  take(tag: XmlTag): void {
    const name = nameOf(tag.name, this.#prefix);
    const skipped = this.#skipped;
    if (skipped !== undefined) {
      if (name !== skipped.name || tag.kind === "empty") return;
      skipped.depth += tag.kind === "open" ? 1 : -1;
      if (skipped.depth > 0) return;
      this.#whole(name, { start: skipped.start, end: tag.end });
      this.#skipped = undefined;
    } else if (tag.kind === "close") this.#close(name, tag);
    else if (tag.kind === "empty") this.#empty(name, tag);
    else if (closed.has(name) || anchor.test(name)) this.#skipped = { name, start: tag.start, depth: 1 };
    else this.#open(name, tag);
  }

  end(): WordText {
    if (this.#skipped !== undefined || this.#paragraph !== undefined || this.#depth !== 0) throw damaged();
    return { lines: this.#lines, begin: this.#begin };
  }

  #open(name: string, tag: XmlTag): void {
    const { start, end } = tag;
    const isOuter = this.#depth === 1;
    if (name === "body") this.#begin = end;
    else if (name === "tbl") {
      this.#depth += 1;
      if (this.#depth === 1) this.#table = { start, end, rows: 0 };
    } else if (name === "tr" && isOuter && this.#table !== undefined) {
      this.#row = { kind: "row", mark: "", properties: "", cells: [], table: this.#table, start, end };
    } else if (name === "tc" && isOuter) this.#cell = { properties: "", paragraphs: [] };
    else if (name === "p") this.#paragraph = noText(start, end);
    else if (name === "t") this.#text = tag;
    else if (!plain.has(name) && !unimportant.has(name)) this.#hold();
    if (name === "p" || name === "r") this.#format = "";
  }

  #close(name: string, { start, end }: XmlTag): void {
    if (name === "t" && this.#text !== undefined) {
      this.#piece("text", xmlText(this.#xml.slice(this.#text.end, start)), { start: this.#text.start, end });
      this.#text = undefined;
    } else if (name === "p" && this.#paragraph !== undefined) {
      const { inside } = this.#paragraph;
      this.#endParagraph({ ...this.#paragraph, end, inside: { start: inside.start, end: start } });
    } else if (name === "tc" && this.#depth === 1 && this.#cell !== undefined) {
      this.#endCell(this.#cell);
    } else if (name === "tr" && this.#depth === 1 && this.#row !== undefined) {
      this.#endRow({ ...this.#row, end });
    } else if (name === "tbl") {
      this.#depth -= 1;
      if (this.#depth === 0 && this.#table !== undefined) this.#table.end = end;
    }
  }

  #empty(name: string, tag: XmlTag): void {
    const character = characters[name];
    if (name === "p") this.#endParagraph({ ...noText(tag.start, tag.end), inside: tag });
    else if (name === "br") {
      const type = attributeOf(this.#xml.slice(tag.start, tag.end), this.#prefix, "type") ?? "textWrapping";
      if (type === "textWrapping") this.#piece("element", lineBreak, tag);
      else this.#hold();
    } else if (name === "footnoteReference" || name === "endnoteReference") {
      this.#notes += 1;
      this.#piece("fixed", `[${this.#notes}]`, tag);
      this.#hold();
    } else if (character !== undefined) this.#piece("element", character, tag);
    else if (!plain.has(name)) this.#whole(name, tag);
  }

  /** Skips an element. */
  #whole(name: string, span: Span): void {
    const source = this.#xml.slice(span.start, span.end);
    const paragraph = this.#paragraph;
    if (name === "rPr") this.#format = source;
    else if (name === "tcPr" && this.#cell !== undefined && this.#depth === 1) this.#cell.properties = source;
    else if (name === "trPr" && this.#row !== undefined && this.#depth === 1) this.#row.properties = source;
    else if (name === "oMath") this.#piece("fixed", `$${mathText(source.replace(/^<[^>]*>/u, ""))}$`, span);
    if (paragraph === undefined) return;
    if (name === "pPr") {
      paragraph.properties = source;
      paragraph.inside.start = span.end;
      paragraph.holds ||= source.includes(`<${this.#prefix}sectPr`);
    }
    if (anchor.test(name)) paragraph.anchors.push(source);
    else if (!unimportant.has(name)) this.#hold();
  }

  #hold(): void {
    if (this.#paragraph !== undefined) this.#paragraph.holds = true;
  }

  #piece(kind: Piece["kind"], text: string, { start, end }: Span): void {
    this.#paragraph?.pieces.push({ kind, text, format: this.#format, start, end });
  }

  #endParagraph(paragraph: Paragraph): void {
    this.#paragraph = undefined;
    if (this.#cell !== undefined) this.#cell.paragraphs.push(paragraph);
    else if (plainText([paragraph]) !== "") {
      const { start, end, properties } = paragraph;
      this.#lines.push({
        kind: "paragraph",
        mark: markOf(properties, this.#prefix, this.#marks),
        paragraph,
        start,
        end,
      });
    }
  }

  #endCell(cell: NonNullable<Cell>): void {
    this.#cell = undefined;
    const merge = valueOf(cell.properties, this.#prefix, "vMerge");
    // Continuation cells of a vertical merge are skipped.
    if (merge !== undefined && merge !== "restart") return;
    const width = Math.min(100, Number(valueOf(cell.properties, this.#prefix, "gridSpan") ?? 1) || 1);
    this.#row?.cells.push(cell, ...Array<null>(width - 1).fill(null));
  }

  #endRow(row: Line & { kind: "row" }): void {
    this.#row = undefined;
    row.table.rows += 1;
    // Skips rows with a tracked deletion.
    if (!row.properties.includes(`<${this.#prefix}del `)) this.#lines.push(row);
  }
}

function noText(start: number, end: number): Paragraph {
  return { start, end, inside: { start: end, end }, properties: "", pieces: [], anchors: [], holds: false };
}

/** A tag's name without its prefix. Of other namespaces, only requested names are returned. */
function nameOf(name: string, prefix: string): string {
  if (prefix === "" ? !name.includes(":") : name.startsWith(prefix)) return name.slice(prefix.length);
  return /:(?<name>oMath|AlternateContent)$/u.exec(name)?.groups?.["name"] ?? name;
}

function damaged(): AppError {
  return new AppError("invalid_format", "It cannot be edited: its parts are cut off.", {
    suggestion: "Ask the user to open it in a word processor and to save it again.",
  });
}
