import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import type { WireRequest } from "@millrace/models/messages/wire-request";

/** The first place that a request has otherwise than the one before it, in the order in which providers cache. */
export const CacheBreak = z.object({
  part: z.enum(["model", "tools", "messages"]),
  path: z.string().describe("The value in `request`, such as `messages[3].content`"),
  byte: z.number().int().describe("Of the JSON of `request`: the first one that differs there"),
});
type CacheBreak = z.infer<typeof CacheBreak>;

/** The parts of a request that a prompt cache depends on: another model has none, and tools come before messages. */
const parts = ["model", "tools", "messages"] as const;

/**
 * Where a provider's prompt cache breaks. Messages that were only added break nothing: all of the request before is
 * still the beginning.
 */
export function cacheBreak(request: WireRequest, before: WireRequest): CacheBreak | null {
  for (const part of parts) {
    const added = part === "messages" ? request.messages.slice(before.messages.length) : [];
    const own = added.length > 0 ? request.messages.slice(0, before.messages.length) : request[part];
    if (isDeepStrictEqual(own, before[part])) continue;
    const place = placeOf(own, before[part], part);
    return { part, path: place.path, byte: startOf(request, part) + place.byte };
  }
  return null;
}

/** A value in another, and the byte of the JSON of the whole that differs first in it. */
interface Place {
  path: string;
  byte: number;
}

/** Where two different values differ first. */
function placeOf(own: unknown, before: unknown, path: string): Place {
  if (typeof own === "string" && typeof before === "string") return { path, byte: sameBytes(own, before) };
  if (Array.isArray(own) && Array.isArray(before)) return placeInList(own, before, path);
  if (isObject(own) && isObject(before)) return placeInObject(own, before, path);
  return { path, byte: 0 };
}

function placeInList(own: readonly unknown[], before: readonly unknown[], path: string): Place {
  let byte = 1;
  for (const [index, item] of own.entries()) {
    const at = `${path}[${index}]`;
    if (index >= before.length) return { path: at, byte };
    if (!isDeepStrictEqual(item, before[index])) return within(placeOf(item, before[index], at), byte);
    byte += bytesOf(item) + 1;
  }
  // The one before went on here.
  return { path: `${path}[${own.length}]`, byte: Math.max(1, byte - 1) };
}

function placeInObject(own: Record<string, unknown>, before: Record<string, unknown>, path: string): Place {
  let byte = 1;
  for (const [key, value] of Object.entries(own)) {
    if (!isDeepStrictEqual(value, before[key])) {
      return within(placeOf(value, before[key], `${path}.${key}`), byte + bytesOf(key) + 1);
    }
    byte += bytesOf(key) + 1 + bytesOf(value) + 1;
  }
  return { path, byte: Math.max(1, byte - 1) };
}

function within({ path, byte }: Place, begin: number): Place {
  return { path, byte: begin + byte };
}

/** Where the value of a field begins in the JSON of a request; its end where it has no such field. */
function startOf(request: WireRequest, field: string): number {
  let byte = 1;
  for (const [key, value] of Object.entries(request)) {
    if (value === undefined) continue;
    if (key === field) return byte + bytesOf(key) + 1;
    byte += bytesOf(key) + 1 + bytesOf(value) + 1;
  }
  return byte - 1;
}

function sameBytes(one: string, other: string): number {
  const [left, right] = [Buffer.from(JSON.stringify(one)), Buffer.from(JSON.stringify(other))];
  const found = left.findIndex((byte, index) => byte !== right[index]);
  return found === -1 ? left.length : found;
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? "");
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
