import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { AppError } from "@millrace/engine/errors/errors";
import type { Syntax } from "../formats/document-thread.ts";
import { withoutPictures } from "./without-pictures.ts";
import { packParts, readParts } from "../formats/zip-parts.ts";

/**
 * A Word document from HTML or Markdown, made by libraries, in a thread of its own: it loses the way to the files of
 * the machine, which one of them would open for a picture. They are loaded here: that takes a while.
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

/** Lines around cells, and who has made it. */
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
  // What takes blanks out first takes everything out of HTML that it cannot read.
  return tidyWordFile(hasText(file) ? file : await make(true), headedTables(content));
}

async function fromMarkdown(content: string): Promise<Uint8Array> {
  const { default: markdownDocx, Packer } = await import("markdown-docx");
  closeFiles();
  const document = await markdownDocx(content, { imageAdapter: async () => null });
  return withOneStyle(await Packer.toBuffer(document));
}

/** From now on nothing in this thread opens a file. */
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
 * A Word document that the library for HTML has made, as the standard wants it: the settings of the page come last,
 * rows of heads are marked as such (`headed` says of each table, in order, whether it has one), and nothing advertises.
 */
export function tidyWordFile(file: Uint8Array, headed: readonly boolean[]): Uint8Array {
  return rewritten(file, {
    [mainPart]: (xml) => withHeads(sectionLast(xml), headed),
    "docProps/core.xml": (xml) => xml.replace(/<cp:keywords>[^<]*<\/cp:keywords>/u, ""),
  });
}

/**
 * A Word document that the library for Markdown has made, with one style for each paragraph: it gives some a second
 * one, which the standard does not know and of which Word takes the first and LibreOffice the last.
 */
export function withOneStyle(file: Uint8Array): Uint8Array {
  return rewritten(file, {
    [mainPart]: (xml) => xml.replaceAll(/(<w:pStyle [^>]*\/>)(?:<w:pStyle [^>]*\/>)+/gu, "$1"),
  });
}

/** The same file with some of its parts written anew. */
function rewritten(file: Uint8Array, changes: Readonly<Record<string, (xml: string) => string>>): Uint8Array {
  const parts = readParts(file, (name) => !name.endsWith("/"));
  const tidied = new Map<string, Uint8Array>();
  // Who looks at the beginning of a file to see what it is finds it there.
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

/** HTML in which the lines and blanks of listings are marked: the library would put them together. */
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

/** Of each table of HTML, in order, whether its first row has cells of a head. */
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
  // Where the library has left one out, nobody knows which.
  if (tables.length - 1 !== headed.length) return xml;
  return tables
    .map((part, index) =>
      headed[index - 1] === true ? part.replace(/<w:trPr\s*\/>/u, "<w:trPr><w:tblHeader/></w:trPr>") : part,
    )
    .join("");
}
