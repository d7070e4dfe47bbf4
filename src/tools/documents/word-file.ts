import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { AppError } from "@millrace/engine/errors/errors";
import type { Syntax } from "./document-job.ts";
import { headedTables, tidyWordFile, withListings, withOneStyle } from "./tidy-word-file.ts";
import { withoutPictures } from "./without-pictures.ts";
import { readParts } from "./zip-parts.ts";

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
