import { AppError, isAppError } from "@millrace/engine/errors/errors";
import { counted } from "../formats/document-format.ts";
import { inThread, type Syntax } from "../formats/document-thread.ts";
import { findPandoc, pandocFile } from "./pandoc.ts";
import { readParts } from "../formats/zip-parts.ts";

/**
 * Maximum characters of a text that becomes a Word document, and of one converted with pandoc, whose output is parsed
 * here.
 */
const [maxTextLength, maxPandocLength] = [2_000_000, 100_000];

/** The first tag of an HTML text. */
const htmlBegins =
  /^<(?:!doctype|html|head|body|title|meta|style|header|main|article|section|div|p|h[1-6]|ul|ol|dl|table|blockquote|pre|figure|center|hr|br|span|b|strong|i|em|u|a|font|img)\b/iu;

/** A generated Word document: its bytes, source syntax, generator, and what it leaves out. */
export interface WordDocument {
  file: Uint8Array;
  syntax: Syntax;
  madeBy: "pandoc" | "library";
  left_out: string[];
}

/**
 * Converts HTML or Markdown to a Word document: with pandoc if installed, else with libraries. Fetches nothing and
 * reads no file. Throws `too_large`, `invalid_format`, `timeout`, and the signal's reason.
 */
export async function wordDocument(
  text: string,
  signal: AbortSignal,
  pandoc: () => Promise<string | undefined> = findPandoc,
): Promise<WordDocument> {
  if (text.length > maxTextLength) {
    throw new AppError("too_large", `The text has ${text.length} characters; a Word document takes ${maxTextLength}.`, {
      suggestion: "Make several documents of it.",
    });
  }
  const syntax = syntaxOf(text);
  const program = text.length > maxPandocLength ? undefined : await pandoc();
  const made = program === undefined ? undefined : await pandocFile(program, text, syntax, signal);
  if (made !== undefined && isWhole(made.file)) {
    return { file: made.file, syntax, madeBy: "pandoc", left_out: counted(made.pictures, "picture") };
  }
  const answer = await inThread({ kind: "write", content: text, syntax }, signal);
  if (answer.kind !== "file") throw new AppError("invalid_state", "A document was written, and a text came back.");
  return { file: answer.file, syntax, madeBy: "library", left_out: counted(answer.pictures, "picture") };
}

/** The syntax of a text that becomes a Word document: HTML if it begins with a tag, ignoring comments. */
export function syntaxOf(text: string): Syntax {
  let rest = text.trimStart();
  for (let end = 0; end >= 0 && /^<(?:!--|\?xml\b)/u.test(rest);) {
    const mark = rest.startsWith("<!--") ? "-->" : ">";
    end = rest.indexOf(mark);
    rest = end < 0 ? "" : rest.slice(end + mark.length).trimStart();
  }
  return htmlBegins.test(rest) ? "html" : "markdown";
}

function isWhole(file: Uint8Array): boolean {
  try {
    return readParts(file, (name) => name === "word/document.xml").size === 1;
  } catch (error) {
    if (isAppError(error)) return false;
    throw error;
  }
}
