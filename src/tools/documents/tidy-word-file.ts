import { packParts, readParts } from "./zip-parts.ts";

const mainPart = "word/document.xml";
const section = /<w:sectPr>[\s\S]*?<\/w:sectPr>\s*/u;

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
  const found = section.exec(xml)?.[0];
  return found === undefined
    ? xml
    : xml.replace(section, "").replace(/<\/w:body>(?![\s\S]*<\/w:body>)/u, `${found}</w:body>`);
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
