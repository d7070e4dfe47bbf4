import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import type { HttpContext } from "../environment.ts";

/** Bytes from which on an answer is packed: below, it goes out in a few packets anyway. */
export const packedFrom = 4096;

const pack = promisify(gzip);

/** Whether the client takes gzip (RFC 9110, section 12.5.3): by name or as anything, and not with a weight of 0. */
export function takesGzip(context: HttpContext): boolean {
  const wanted = context.req.header("accept-encoding");
  if (wanted === undefined) return false;
  const weights = new Map(
    wanted.split(",").map((part): [string, number] => {
      const [coding = "", ...parameters] = part.trim().toLowerCase().split(";");
      const weight = parameters.map((one) => /^\s*q=([\d.]+)\s*$/u.exec(one)?.[1]).find((text) => text !== undefined);
      return [coding.trim(), weight === undefined ? 1 : Number(weight)];
    }),
  );
  return (weights.get("gzip") ?? weights.get("x-gzip") ?? weights.get("*") ?? 0) > 0;
}

/** The bytes packed, quickly rather than as small as can be; off the event loop. */
export function packed(bytes: Uint8Array): Promise<Buffer> {
  return pack(bytes, { level: constants.Z_BEST_SPEED });
}

/** A text as it goes out: packed where it is long and the client takes that, with the headers that say so. */
export async function packedText(
  context: HttpContext,
  text: string,
): Promise<{ body: string | Buffer; headers: Record<string, string> }> {
  if (text.length < packedFrom || !takesGzip(context)) return { body: text, headers: {} };
  return { body: await packed(Buffer.from(text)), headers: { "content-encoding": "gzip", vary: "Accept-Encoding" } };
}
