import type { Syntax } from "./document-job.ts";

/** A Word document from HTML or Markdown, made by libraries. What they load is loaded here: it takes a while. */
export async function wordFile(content: string, syntax: Syntax): Promise<Uint8Array> {
  return syntax === "html" ? await fromHtml(content) : await fromMarkdown(content);
}

async function fromHtml(content: string): Promise<Uint8Array> {
  const { default: htmlToDocx } = await import("@turbodocx/html-to-docx");
  const made = await htmlToDocx(content, null, { creator: "Millrace", lastModifiedBy: "Millrace" });
  return Uint8Array.from(made instanceof Blob ? Buffer.from(await made.arrayBuffer()) : new Uint8Array(made));
}

async function fromMarkdown(content: string): Promise<Uint8Array> {
  const { default: markdownDocx, Packer } = await import("markdown-docx");
  // Without this it would open any file that the text names.
  const document = await markdownDocx(content, { imageAdapter: async () => null });
  return Uint8Array.from(await Packer.toBuffer(document));
}
