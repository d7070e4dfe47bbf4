import type { FileHandle } from "node:fs/promises";

/** How a text file is encoded: as decoders call it, and as people do. */
export interface Encoding {
  label: "utf-8" | "utf-16le" | "utf-16be" | "gb18030" | "windows-1252";
  name: string;
}

const utf8: Encoding = { label: "utf-8", name: "UTF-8" };
/** Bytes at the beginning of a file that say how it is encoded. */
const headLength = 64 * 1024;
/** Control characters that no text has. */
const noText = /(?![\t\n\f\r])\p{Cc}/u;

/**
 * How a text file is encoded: by its byte-order mark, else UTF-8 if its beginning is, else Chinese (GB 18030) if it reads as
 * such, else Western (Windows-1252). What is none of them counts as UTF-8, which whoever reads it finds it is not.
 */
export async function encodingOf(handle: FileHandle): Promise<Encoding> {
  const buffer = Buffer.alloc(headLength);
  const { bytesRead } = await handle.read(buffer, 0, headLength, 0);
  const head = buffer.subarray(0, bytesRead);
  if (head[0] === 0xff && head[1] === 0xfe) return { label: "utf-16le", name: "UTF-16" };
  if (head[0] === 0xfe && head[1] === 0xff) return { label: "utf-16be", name: "UTF-16" };
  if (decoded(head, "utf-8") !== undefined) return utf8;
  const chinese = decoded(head, "gb18030");
  if (chinese !== undefined && !noText.test(chinese) && isChinese(chinese))
    return { label: "gb18030", name: "GB 18030" };
  const western = decoded(head, "windows-1252") ?? "\0";
  return noText.test(western) || isCut(head) ? utf8 : { label: "windows-1252", name: "Windows-1252" };
}

/** The text of a file's beginning; `undefined` when it is not in this encoding. A character may be cut at the end. */
function decoded(head: Buffer, label: Encoding["label"]): string | undefined {
  try {
    return new TextDecoder(label, { fatal: true }).decode(head, { stream: true });
  } catch {
    return undefined;
  }
}

/** Most bytes beyond ASCII are a Chinese character's; in a text of another language they would be strange pairs. */
function isChinese(text: string): boolean {
  const beyond = text.match(/[^\p{ASCII}]/gu)?.length ?? 0;
  const chinese = text.match(/[\u4e00-\u9fa5，。、；：？！“”‘’（）《》【】…—·]/gu)?.length ?? 0;
  return beyond > 0 && chinese / beyond > 0.8;
}

/** UTF-8 with characters of several bytes in it, and something wrong in between, is a damaged file. */
function isCut(head: Buffer): boolean {
  return /[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}/u.test(head.toString("latin1"));
}
