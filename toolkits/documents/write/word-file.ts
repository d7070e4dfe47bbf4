import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { AppError } from "@millrace/engine/errors/errors";
import type { Syntax } from "../formats/document-thread.ts";
import { withoutPictures } from "./without-pictures.ts";
import { packParts, readParts } from "../formats/zip-parts.ts";

/**
 * Converts HTML or Markdown to a Word document with libraries, in a worker thread that loses file access, since one of
 * them would open local pictures. The libraries are imported lazily, which takes a while.
 */
export async function wordFile(text: string, syntax: Syntax): Promise<{ file: Uint8Array; pictures: number }> {
  const { content, pictures } = withoutPictures(text, syntax);
  const file = syntax === "html" ? await fromHtml(content) : await fromMarkdown(content);
  if (!hasText(file) && /[\p{L}\p{N}]/u.test(content.replaceAll(/<[^<>]*>/gu, ""))) {
    throw new AppError("execution_failed", "The converter lost the text; nothing was written.", {
      suggestion: "Write it in plainer HTML or in Markdown.",
    });
  }
  return { file, pictures };
}

function hasText(file: Uint8Array): boolean {
  const xml = readParts(file, (name) => name === "word/document.xml").get("word/document.xml");
  return /<w:t(?:\s[^>]*[^/>]|\s?)>[^<]/u.test(xml?.toString("utf8") ?? "");
}

/** Cell borders, and the author. */
const look = {
  creator: "Millrace",
  lastModifiedBy: "Millrace",
  table: { borderOptions: { size: 4, stroke: "single", color: "A5A5A5" } },
};

async function fromHtml(content: string): Promise<Uint8Array> {
  const { default: htmlToDocx } = await import("@turbodocx/html-to-docx");
  closeFiles();
  const make = async (skipHTMLMinify: boolean): Promise<Uint8Array> => {
    const options = { ...look, preprocessing: { skipHTMLMinify } };
    const made = await htmlToDocx(withListings(content), null, options);
    return Uint8Array.from(made instanceof Blob ? Buffer.from(await made.arrayBuffer()) : new Uint8Array(made));
  };
  const file = await make(false);
  // Normalising first removes everything from HTML that the library cannot parse.
  return tidyWordFile(hasText(file) ? file : await make(true), headedTables(content));
}

async function fromMarkdown(content: string): Promise<Uint8Array> {
  const { default: markdownDocx, Packer } = await import("markdown-docx");
  closeFiles();
  const document = await markdownDocx(content, { imageAdapter: async () => null });
  return withOneStyle(await Packer.toBuffer(document));
}

/** From here on, nothing in this thread opens a file. */
function closeFiles(): void {
  const refuse = (): never => {
    throw new AppError("permission", "A document is made without the files of the machine.");
  };
  const ways = { open: refuse, readFile: refuse };
  Object.assign(fs, ways, { openSync: refuse, readFileSync: refuse, createReadStream: refuse });
  Object.assign(fs.promises, ways);
  syncBuiltinESMExports();
}

const mainPart = "word/document.xml";

/**
 * Fixes a Word document from the HTML library to meet the standard: page settings come last, header rows are marked
 * (`headed` says for each table, in order, whether it has one), and no advertising.
 */
export function tidyWordFile(file: Uint8Array, headed: readonly boolean[]): Uint8Array {
  return rewritten(file, {
    [mainPart]: (xml) => withHeads(sectionLast(xml), headed),
    "docProps/core.xml": (xml) => xml.replace(/<cp:keywords>[^<]*<\/cp:keywords>/u, ""),
  });
}

/**
 * Keeps one style per paragraph in a Word document from the Markdown library: it sets two on some, which the standard
 * does not allow; Word uses the first and LibreOffice the last.
 */
export function withOneStyle(file: Uint8Array): Uint8Array {
  return rewritten(file, {
    [mainPart]: (xml) => xml.replaceAll(/(<w:pStyle [^>]*\/>)(?:<w:pStyle [^>]*\/>)+/gu, "$1"),
  });
}

/** The file with some parts rewritten. */
function rewritten(file: Uint8Array, changes: Readonly<Record<string, (xml: string) => string>>): Uint8Array {
  const parts = readParts(file, (name) => !name.endsWith("/"));
  const tidied = new Map<string, Uint8Array>();
  // File type detection expects them at the beginning.
  for (const name of ["[Content_Types].xml", "_rels/.rels"]) {
    const part = parts.get(name);
    if (part !== undefined) tidied.set(name, part);
  }
  for (const [name, part] of parts) {
    const change = changes[name];
    tidied.set(name, change === undefined ? part : Buffer.from(change(part.toString("utf8"))));
  }
  return packParts(tidied, { isPacked: true });
}

/** Marks lines and blanks in listings, which the library would collapse. */
export function withListings(html: string): string {
  const lower = html.toLowerCase();
  const kept: string[] = [];
  let at = 0;
  for (let begin = lower.indexOf("<pre"); begin >= 0; begin = lower.indexOf("<pre", at)) {
    const inside = lower.indexOf(">", begin) + 1;
    const end = inside === 0 ? -1 : lower.indexOf("</pre", inside);
    if (end < 0) break;
    const lines = html
      .slice(inside, end)
      .replace(/^\r?\n|\r?\n$/gu, "")
      .split(/\r?\n/u);
    const marked = lines.map((line) =>
      line.replaceAll("\t", "    ").replaceAll(/^ +| {2,}/gu, (blanks) => "&nbsp;".repeat(blanks.length)),
    );
    kept.push(html.slice(at, inside), marked.join("<br>"));
    at = end;
  }
  kept.push(html.slice(at));
  return kept.join("");
}

/** For each table in the HTML, in order, whether its first row has header cells. */
export function headedTables(html: string): boolean[] {
  const headed: boolean[] = [];
  let row = 0;
  for (const [, closing, tag] of html.toLowerCase().matchAll(/<(\/?)(table|tr|td|th)\b/gu)) {
    if (tag === "table" && closing === "") {
      headed.push(false);
      row = 0;
    } else if (tag === "tr" && closing === "") row += 1;
    else if (tag === "th" && row === 1) headed[headed.length - 1] = true;
  }
  return headed;
}

function sectionLast(xml: string): string {
  const [begin, close] = [xml.indexOf("<w:sectPr>"), "</w:sectPr>"];
  const end = begin === -1 ? -1 : xml.indexOf(close, begin);
  if (end === -1) return xml;
  const section = xml.slice(begin, end + close.length);
  const rest = xml.slice(0, begin) + xml.slice(end + close.length).trimStart();
  const body = rest.lastIndexOf("</w:body>");
  return body === -1 ? rest : rest.slice(0, body) + section + rest.slice(body);
}

function withHeads(xml: string, headed: readonly boolean[]): string {
  const tables = xml.split(/(?=<w:tbl>)/u);
  // If the library dropped a table, the mapping is unknown.
  if (tables.length - 1 !== headed.length) return xml;
  return tables
    .map((part, index) =>
      headed[index - 1] === true ? part.replace(/<w:trPr\s*\/>/u, "<w:trPr><w:tblHeader/></w:trPr>") : part,
    )
    .join("");
}
