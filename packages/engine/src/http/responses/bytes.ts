import type { HttpContext } from "../environment.ts";

const OneRange = /^bytes=(?<from>\d*)-(?<to>\d*)$/u;

/** Sends bytes, or the one part that a `Range` header asks for. Several ranges get the whole. */
export function respondBytes(context: HttpContext, bytes: Uint8Array, about: Record<string, string>): Response {
  const headers = { ...about, "accept-ranges": "bytes" };
  const { from, to } = OneRange.exec(context.req.header("range") ?? "")?.groups ?? {};
  if (from === undefined || to === undefined || (from === "" && to === "")) {
    return context.body(new Uint8Array(bytes), 200, headers);
  }
  const begin = from === "" ? Math.max(0, bytes.length - Number(to)) : Number(from);
  const end = from === "" || to === "" ? bytes.length - 1 : Math.min(Number(to), bytes.length - 1);
  if (begin > end) return context.body(null, 416, { "content-range": `bytes */${bytes.length}` });
  const part = new Uint8Array(bytes.subarray(begin, end + 1));
  return context.body(part, 206, { ...headers, "content-range": `bytes ${begin}-${end}/${bytes.length}` });
}
