import type { FileHandle } from "node:fs/promises";
import { AppError } from "@millrace/engine/errors/errors";
import type { Encoding } from "./text-encoding.ts";

/** Characters of a line that are kept; the rest of a longer one is dropped. */
const longestLine = 100_000;

/**
 * The lines of an open text file, some at a time, each with its line end. Throws `invalid_format` for what is no text,
 * or not in this encoding. Memory stays bounded whatever the file.
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
    pending = (pieces.pop() ?? "").slice(0, longestLine);
    const lines = pieces.map((piece) => `${piece.slice(0, longestLine)}\n`);
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
    cause,
  });
}
