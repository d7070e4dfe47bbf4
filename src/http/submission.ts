import { createHash } from "node:crypto";
import { HTTPException } from "hono/http-exception";
import type { RunRequest } from "../runs/runs.ts";
import type { HttpContext } from "./environment.ts";

/** A value with the keys of its objects in order, so that equal values have equal texts. */
function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, ordered(item)] as const);
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * What makes a repeated request the same one (QUEUE-02, API-10): its `Idempotency-Key` and a hash of its parsed body, in
 * which the order of keys does not count. `undefined` without the header; 400 for a key that is empty or too long.
 */
export function submissionOf(context: HttpContext, body: object): RunRequest["submission"] {
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
