import mammoth from "mammoth";
import { AppError } from "@millrace/engine/errors/errors";
import { counted, type DocumentText } from "../formats/document-format.ts";
import { equationsAsText } from "./equations.ts";
import { htmlAsMarkdown } from "./html-as-markdown.ts";
import { scanXml } from "./scan-xml.ts";
import { packParts, readParts } from "../formats/zip-parts.ts";

/** Parts of a Word document with text or its settings; pictures and fonts are not unpacked. */
const readPart = /\.(?:xml|rels)$/iu;

/**
 * Meanings of the styles that programs use for quotations, code and titles: Word, pandoc, LibreOffice, and the
 * libraries used here.
 */
const styles = [
  ...["Quote", "Intense Quote", "Block Text", "Quotations", "MdBlockquote"].map(
    (name) => `p[style-name='${name}'] => blockquote > p:fresh`,
  ),
  ...["Source Code", "HTML Preformatted", "Preformatted Text", "MdCode"].map(
    (name) => `p[style-name='${name}'] => pre:separator('\\n')`,
  ),
  ...["Verbatim Char", "HTML Code", "Source Text", "MdCodespan"].map((name) => `r[style-name='${name}'] => code`),
  "p[style-name='Title'] => h1:fresh",
];

/**
 * The text of a Word document with headings, lists, tables, links and equations. Throws `invalid_format` for anything
 * else, and `too_large`.
 */
export async function wordText(file: Uint8Array): Promise<DocumentText> {
  const parts = readParts(file, (name) => readPart.test(name));
  if (![...parts.keys()].some((name) => name.startsWith("word/"))) {
    throw new AppError("invalid_format", "It is not a Word document, whatever its name says.", {
      suggestion: "Look at what the file really is, or ask the user.",
    });
  }
  const readable = new Map<string, Uint8Array>();
  for (const [name, content] of parts) {
    const isText = /^word\/[^/]+\.xml$/u.test(name);
    readable.set(name, isText ? Buffer.from(equationsAsText(content.toString("utf8")).xml) : content);
  }
  let pictures = 0;
  const picture = mammoth.images.imgElement(async () => {
    pictures += 1;
    return { src: "" };
  });
  const read = await mammoth
    .convertToHtml({ buffer: packParts(readable) }, { convertImage: picture, styleMap: styles })
    .catch(notWord);
  return { text: htmlAsMarkdown(read.value), left_out: [...counted(pictures, "picture"), ...leftOut(parts)] };
}

function notWord(cause: unknown): never {
  throw new AppError("invalid_format", "It cannot be read as a Word document: its parts do not fit together.", {
    suggestion: "Ask the user to open it in a word processor and to save it again.",
    cause,
  });
}

/** The document's content besides text, for readers who would expect it. */
function leftOut(parts: ReadonlyMap<string, Buffer>): string[] {
  const found: string[] = [];
  const main = parts.get("word/document.xml")?.toString("utf8") ?? "";
  found.push(...counted([...main.matchAll(/<c:chart[\s/>]/gu)].length, "chart"));
  found.push(...counted([...main.matchAll(/<dgm:relIds[\s/>]/gu)].length, "diagram"));
  found.push(...counted([...main.matchAll(/<o:OLEObject[\s/>]/gu)].length, "embedded object"));
  const comments = parts.get("word/comments.xml")?.toString("utf8") ?? "";
  found.push(...counted([...comments.matchAll(/<w:comment\s/gu)].length, "comment"));
  const isEdge = (name: string): boolean => /^word\/(?:header|footer)\d*\.xml$/u.test(name);
  const edges = [...parts].filter(([name, content]) => isEdge(name) && hasText(content.toString("utf8")));
  if (edges.length > 0) found.push("headers and footers");
  return found;
}

function hasText(xml: string): boolean {
  for (const piece of scanXml(xml)) if (piece.kind === "text" && piece.text.trim() !== "") return true;
  return false;
}
