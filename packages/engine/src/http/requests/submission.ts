import { createHash } from "node:crypto";
import { HTTPException } from "hono/http-exception";
import type { RunRequest } from "../../runs/admission/draft.ts";
import type { HttpContext } from "../environment.ts";

/** A client's key and a hash of what it sent. */
type Submission = NonNullable<RunRequest["submission"]>;

/** A value with the keys of its objects in order, so that equal values have equal texts. */
function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, ordered(item)] as const);
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * What makes a repeated request the same one: its `Idempotency-Key` and a hash of its parsed body, in which the order
 * of keys does not count. `undefined` without the header; 400 for a key that is empty or too long.
 */
export function submissionOf(context: HttpContext, body: object): Submission | undefined {
  const key = context.req.header("idempotency-key");
  if (key === undefined) return undefined;
  if (key.trim() === "" || key.length > 255) {
    throw new HTTPException(400, { message: "Idempotency-Key must have 1 to 255 characters" });
  }
  const hash = createHash("sha256")
    .update(JSON.stringify(ordered(body)))
    .digest("hex");
  return { key, hash };
}

/**
 * The id of the session that a stateless run under this key has: the same key finds the same session, and in it the run
 * of that time. Keys belong to their owners, so two owners never meet in one.
 */
export function sessionIdOf({ key }: Submission, owner: string): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([owner, key]))
    .digest();
  // A UUID of version 8, whose bits are free for such a use (RFC 9562).
  digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x80, 6);
  digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8);
  return digest.toString("hex", 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/u, "$1-$2-$3-$4-$5");
}
