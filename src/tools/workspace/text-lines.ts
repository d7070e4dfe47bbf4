import type { FileHandle } from "node:fs/promises";
import { AppError } from "@millrace/engine/errors/errors";
import { type FileContext, withFile } from "./file-access.ts";
import type { Place } from "./workspace-path.ts";

/** Characters kept per line; the rest is dropped. */
const maxLineLength = 100_000;

/**
 * Reads the lines of an open text file in batches, with their line ends, in bounded memory. Throws `invalid_format` if
 * it is not text in this encoding.
 */
export async function* textLines(
  handle: FileHandle,
  path: string,
  signal: AbortSignal,
  encoding: Encoding["label"] = "utf-8",
): AsyncGenerator<string[]> {
  const decoder = new TextDecoder(encoding, { fatal: true });
  const isWide = encoding.startsWith("utf-16");
  const buffer = Buffer.alloc(64 * 1024);
  let pending = "";
  for (;;) {
    signal.throwIfAborted();
    const { bytesRead } = await handle.read(buffer, 0, buffer.length);
    const chunk = buffer.subarray(0, bytesRead);
    if (!isWide && chunk.includes(0)) throw notText(path);
    const pieces = (pending + decode(decoder, chunk, path)).split("\n");
    pending = (pieces.pop() ?? "").slice(0, maxLineLength);
    const lines = pieces.map((piece) => `${piece.slice(0, maxLineLength)}\n`);
    if (bytesRead === 0) {
      if (pending !== "") lines.push(pending);
      yield lines;
      return;
    }
    yield lines;
  }
}

function decode(decoder: InstanceType<typeof TextDecoder>, chunk: Buffer, path: string): string {
  try {
    return decoder.decode(chunk, { stream: chunk.length > 0 });
  } catch (error) {
    throw notText(path, error);
  }
}

function notText(path: string, cause?: unknown): AppError {
  return new AppError("invalid_format", `"${path}" is not UTF-8 text but binary or in another encoding.`, {
    suggestion: "Only text can be read; list_files shows what else is there.",
    message_zh: `“${path}”是二进制文件，或不是 UTF-8 编码的文本。`,
    cause,
  });
}

/** An encoding: its decoder label, and its name for users. */
export interface Encoding {
  label: "utf-8" | "utf-16le" | "utf-16be" | "gb18030" | "windows-1252";
  name: string;
}

const utf8: Encoding = { label: "utf-8", name: "UTF-8" };
/** Bytes used to detect the encoding. */
const headLength = 64 * 1024;
/** Control characters that do not occur in text. */
const noText = /(?![\t\n\f\r])\p{Cc}/u;

/**
 * Detects the encoding: byte-order mark, else UTF-8 if valid, else GB 18030 if it reads as Chinese, else Windows-1252.
 * Anything else is reported as UTF-8, which then fails to decode.
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

/** Decodes a file's beginning, which may end within a character; `undefined` if not in this encoding. */
function decoded(head: Buffer, label: Encoding["label"]): string | undefined {
  try {
    return new TextDecoder(label, { fatal: true }).decode(head, { stream: true });
  } catch {
    return undefined;
  }
}

/** Whether most non-ASCII characters are Chinese; text in other languages would decode to odd pairs. */
function isChinese(text: string): boolean {
  const beyond = text.match(/[^\p{ASCII}]/gu)?.length ?? 0;
  const chinese = text.match(/[\u4e00-\u9fa5，。、；：？！“”‘’（）《》【】…—·]/gu)?.length ?? 0;
  return beyond > 0 && chinese / beyond > 0.8;
}

/** Multi-byte UTF-8 sequences among invalid bytes mean a damaged UTF-8 file. */
function isCut(head: Buffer): boolean {
  return /[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}/u.test(head.toString("latin1"));
}

/** Number of lines; a final newline does not start another. */
export function linesIn(text: string): number {
  return text === "" ? 0 : text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
}

/** Maximum bytes of a file that is edited or parsed whole. */
export const maxTextBytes = 8 * 1024 * 1024;

/** A file's whole text with its byte-order mark. Throws `too_large`, and `invalid_format` if it is not UTF-8 text. */
export async function wholeText(context: FileContext, place: Place): Promise<string> {
  const bytes = await withFile(context, place, async (handle, stats) => {
    if (stats.size > maxTextBytes) {
      throw new AppError(
        "too_large",
        `"${place.path}" has ${stats.size} bytes; at most ${maxTextBytes} are taken whole.`,
        { suggestion: "Read it in parts with read_file." },
      );
    }
    return await handle.readFile();
  });
  try {
    if (bytes.includes(0)) throw new TypeError("a zero byte");
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new AppError("invalid_format", `"${place.path}" is not UTF-8 text but binary or in another encoding.`, {
      suggestion: "Only text can be edited or listed; list_files shows what else is there.",
      message_zh: `“${place.path}”是二进制文件，或不是 UTF-8 编码的文本。`,
      cause: error,
    });
  }
}

/** Maximum characters of a list or search result. */
export const answerLimit = 16_000;

/** The lines that fit into the limit, and their number. Lines are never cut. */
export function fittingLines(lines: string[], limit = answerLimit): { text: string; shown: number } {
  let length = 0;
  let shown = 0;
  for (const line of lines) {
    length += line.length + 1;
    if (length > limit) break;
    shown += 1;
  }
  return { text: lines.slice(0, shown).join("\n"), shown };
}
