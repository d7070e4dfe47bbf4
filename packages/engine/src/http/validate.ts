import type { MiddlewareHandler, ValidationTargets } from "hono";
import { resolver, uniqueSymbol } from "hono-openapi";
import { z } from "zod";
import type { HttpContext, HttpEnvironment } from "./environment.ts";
import { respondInvalid } from "./errors.ts";
import { HTTPException } from "hono/http-exception";
import { createHash } from "node:crypto";
import type { Submission } from "../storage/storage.ts";

type Validator<Target extends keyof ValidationTargets, Schema extends z.ZodType> = MiddlewareHandler<
  HttpEnvironment,
  string,
  { in: { [Key in Target]: z.input<Schema> }; out: { [Key in Target]: z.output<Schema> } }
>;

/**
 * A middleware that parses one part of a request and describes it in `/openapi.json` from the same schema. The handler
 * reads the result with `context.req.valid(target)`. A wrong value answers 400 with the issues, never with the input.
 */
function validator<Target extends keyof ValidationTargets, Schema extends z.ZodType>(
  target: Target,
  schema: Schema,
  read: (context: HttpContext) => unknown,
  described: z.ZodType = schema,
): Validator<Target, Schema> {
  const validate: Validator<Target, Schema> = async (context, next) => {
    const parsed = schema.safeParse(await read(context));
    if (!parsed.success) return respondInvalid(parsed.error, context);
    // Hono keeps validated data untyped; `valid()` gives it the type of `out` above.
    context.req.addValidatedData(target, parsed.data as object);
    return next();
  };
  // A client sends the schema's input, before defaults and transforms.
  return Object.assign(validate, { [uniqueSymbol]: { target, ...resolver(described, { options: { io: "input" } }) } });
}

/** Parses the JSON body. `described` is the whole body if the handler itself reads a long part of it. */
export function jsonBody<Schema extends z.ZodType>(schema: Schema, described?: z.ZodType): Validator<"json", Schema> {
  return validator("json", schema, readJson, described);
}

/** Parses the query; the first value of a repeated key counts. */
export function query<Schema extends z.ZodType>(schema: Schema): Validator<"query", Schema> {
  return validator("query", schema, (context) => context.req.query());
}

/** Parses the path parameters. */
export function path<Schema extends z.ZodType>(schema: Schema): Validator<"param", Schema> {
  return validator("param", schema, (context) => context.req.param());
}

/** An id of a thread, run or checkpoint, in lower case. */
export const Id = z.guid({ error: "expected a UUID" }).toLowerCase();

/** Names of the fields to return. Each row is checked for each name. */
export const FieldNames = z.array(z.string()).max(1_000);

/** A yes or no in a query: `1`, `true`, `yes`, `0`, `false`, `no`. */
export const QueryFlag = z
  .enum(["1", "true", "yes", "0", "false", "no", ""])
  .transform((text) => text === "1" || text === "true" || text === "yes");

/** Which subgraphs of a run a reader wants. */
export const NamespaceQuery = z.object({
  namespace: z
    .string()
    .optional()
    .describe("Only events of this path of subgraphs, empty at the root, without what is below; may be repeated"),
});

/** Nesting levels of a JSON body: more than any real request, fewer than would exhaust a recursive reader. */
export const maximumDepth = 64;

/** Keys allowed in one object: inspecting a key costs a hundred times what sending it costs. */
export const maxKeys = 100_000;

/**
 * Reads a JSON body whatever its declared type (Studio sends `text/plain`). Empty is `{}`. Throws 413 above the
 * configured size, 400 for text that is not JSON, is nested too deeply or has an object with too many keys.
 */
export async function readJson(context: HttpContext): Promise<unknown> {
  const limit = context.get("bodyLimit");
  const declared = context.req.header("content-length");
  const isWhole = declared !== undefined && context.req.header("transfer-encoding") === undefined;
  if (isWhole && Number(declared) > limit) throw tooLarge(limit);
  const text = isWhole ? await context.req.text() : (await readBytes(context, limit)).toString("utf8");
  if (text === "") return {};
  const excess = excessOf(text);
  if (excess === "depth") {
    throw new HTTPException(400, { message: `JSON in request body is nested deeper than ${maximumDepth} levels` });
  }
  if (excess === "keys") {
    throw new HTTPException(400, { message: `An object in the request body has more than ${maxKeys} keys` });
  }
  try {
    return parseJson(text);
  } catch {
    throw new HTTPException(400, { message: "Malformed JSON in request body" });
  }
}

/** A letter of `__proto__` as an escape: the key is the same, but the text does not contain it. */
const hiddenLetter = /\\u00(?:5f|6f|7[024])/iu;

/**
 * Parses a client's JSON. A key that would set a prototype when the object is copied is dropped, however it is written.
 * Throws `SyntaxError`.
 */
export function parseJson(text: string): unknown {
  const mayHide = text.includes("__proto__") || (text.includes("\\u00") && hiddenLetter.test(text));
  return JSON.parse(text, mayHide ? withoutPrototypes : undefined);
}

function withoutPrototypes(key: string, value: unknown): unknown {
  return key === "__proto__" ? undefined : value;
}

/** Reads a body of bytes. Throws 413 above a size. */
export async function readBytes(context: HttpContext, limit: number): Promise<Buffer> {
  if (Number(context.req.header("content-length") ?? 0) > limit) throw tooLarge(limit);
  const body = context.req.raw.body;
  if (body === null) return Buffer.alloc(0);
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of body) {
    size += part.byteLength;
    if (size > limit) throw tooLarge(limit);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function tooLarge(limit: number): HTTPException {
  const message = `Request body is larger than the limit of ${limit} bytes. Send less, or raise MILLRACE_BODY_LIMIT.`;
  return new HTTPException(413, { message });
}

/**
 * The limit a JSON text exceeds: nesting deeper than `deepest`, or an object of more than `maxKeys` keys. It scans the
 * text, so depth costs no stack.
 */
export function excessOf(text: string, deepest = maximumDepth): "depth" | "keys" | undefined {
  const keys = new Uint32Array(deepest + 1);
  let depth = 0;
  let inString = false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (inString) {
      if (code === 92 /* \ */) index++;
      else if (code === 34 /* " */) inString = false;
    } else if (code === 34) inString = true;
    else if (code === 91 /* [ */ || code === 123 /* { */) {
      if (++depth > deepest) return "depth";
      keys[depth] = 0;
    } else if (code === 93 /* ] */ || code === 125 /* } */) depth--;
    else if (code === 58 /* : */) {
      const count = (keys[depth] ?? 0) + 1;
      keys[depth] = count;
      if (count > maxKeys) return "keys";
    }
  }
  return undefined;
}

/** A client's idempotency key and a hash of its request. */

/** A value with sorted keys, so that equal values have equal texts. */
function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, ordered(item)] as const);
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * Identifies a repeated request: its `Idempotency-Key` and a hash of its parsed body, regardless of key order.
 * `undefined` without the header; 400 for an empty or too long key.
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
 * The session id of a stateless run under this key, in a batch with its `place`: the same key finds the same session and
 * run. Keys belong to their owners, so two owners never share one.
 */
export function sessionIdOf({ key }: Submission, owner: string, place?: number): string {
  // Such a key must not lead to a named thread, or to the run of a batch under a shorter key.
  const isAmbiguous = /^thread:|#\d+$/u.test(key);
  if (isAmbiguous) return idFrom(["key", owner, key, place ?? null]);
  return idFrom([owner, place === undefined ? key : `${key}#${place}`]);
}

/** The session id of the thread that a client calls by a name. */
export function sessionIdOfName(name: string, owner: string): string {
  return idFrom([owner, `thread:${name}`]);
}

/** A UUID that is always the same for these values. */
function idFrom(values: readonly unknown[]): string {
  const digest = createHash("sha256").update(JSON.stringify(values)).digest();
  // A UUID of version 8, whose bits are free for this use (RFC 9562).
  digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x80, 6);
  digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8);
  return digest.toString("hex", 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/u, "$1-$2-$3-$4-$5");
}
