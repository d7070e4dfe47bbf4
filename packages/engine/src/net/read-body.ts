import type { IncomingMessage } from "node:http";
import type { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { AppError, isAppError } from "../errors/errors.ts";

/** The codings that a request asks for. */
export const acceptedCodings = "gzip, deflate, br";

const decoders: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/**
 * The body of an answer, decompressed. It is read up to `limit` bytes, as they come over the wire and as they come out of the
 * decompressor, and no further: a small answer that grows without end costs no more than a large one. Throws `too_large`,
 * unless the beginning is enough (`isCut`), `invalid_format` for a coding that nobody asked for, and what the stream throws.
 */
export async function readBody(
  answer: IncomingMessage,
  { limit, isCut = false }: { limit: number; isCut?: boolean },
  signal: AbortSignal,
): Promise<Buffer> {
  if (!isCut && Number(answer.headers["content-length"] ?? 0) > limit) throw tooLarge(limit);
  const parts: Buffer[] = [];
  try {
    await collectParts(answer, limit, parts, signal);
  } catch (error) {
    if (!isCut || !isAppError(error) || error.code !== "too_large") throw error;
  }
  return Buffer.concat(parts);
}

async function collectParts(
  answer: IncomingMessage,
  limit: number,
  parts: Buffer[],
  signal: AbortSignal,
): Promise<void> {
  const coding = (answer.headers["content-encoding"] ?? "").trim().toLowerCase();
  const collect = async (source: AsyncIterable<Buffer>): Promise<void> => {
    let length = 0;
    for await (const part of source) {
      parts.push(part.subarray(0, limit - length));
      length += part.length;
      if (length > limit) throw tooLarge(limit);
    }
  };
  if (coding === "" || coding === "identity") {
    await pipeline(answer, collect, { signal });
    return;
  }
  const decoder = Object.hasOwn(decoders, coding) ? decoders[coding] : undefined;
  if (decoder === undefined) {
    throw new AppError(
      "invalid_format",
      `The answer is packed in a way that was not asked for (${coding.slice(0, 40)}).`,
    );
  }
  await pipeline(answer, bounded(limit), decoder(), collect, { signal });
}

/** Hands on at most so many bytes: what is packed may also be large and unpack to nothing. */
function bounded(limit: number) {
  return async function* (source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let length = 0;
    for await (const part of source) {
      length += part.length;
      if (length > limit) throw tooLarge(limit);
      yield part;
    }
  };
}

function tooLarge(limit: number): AppError {
  return new AppError("too_large", `The answer has more than ${Math.floor(limit / 1024 / 1024)} MB.`, {
    suggestion: "Ask for a smaller page.",
  });
}
