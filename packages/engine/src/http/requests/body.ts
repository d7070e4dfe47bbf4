import { HTTPException } from "hono/http-exception";
import type { HttpContext } from "../environment.ts";

/** Levels of nesting a JSON body may have: more than any real request, less than what exhausts a recursive reader. */
export const maximumDepth = 64;

/** Keys of one object that are taken: to look at each costs a hundred times what it costs to send it. */
export const mostKeys = 100_000;

/**
 * Reads a JSON body whatever its declared type is (Studio sends `text/plain`). Empty is `{}`. Throws 413 above the
 * configured size, 400 for text that is not JSON, is nested too deeply or holds an object of too many keys.
 */
export async function readJson(context: HttpContext): Promise<unknown> {
  const text = await readText(context, context.get("bodyLimit"));
  if (text === "") return {};
  if (nestedDeeperThan(text, maximumDepth)) {
    throw new HTTPException(400, { message: `JSON in request body is nested deeper than ${maximumDepth} levels` });
  }
  if (hasLargeObject(text)) {
    throw new HTTPException(400, { message: `An object in the request body has more than ${mostKeys} keys` });
  }
  try {
    return parseJson(text);
  } catch {
    throw new HTTPException(400, { message: "Malformed JSON in request body" });
  }
}

/** One of the letters of `__proto__` by its number: the key is the same, and the text does not hold it. */
const hiddenLetter = /\\u00(?:5f|6f|7[024])/iu;

/**
 * JSON of a client. A key that would set an object's prototype when the object is copied by assignment is left out,
 * however it is written. Throws `SyntaxError`.
 */
export function parseJson(text: string): unknown {
  const mayHide = text.includes("__proto__") || (text.includes("\\u00") && hiddenLetter.test(text));
  return JSON.parse(text, mayHide ? withoutPrototypes : undefined);
}

function withoutPrototypes(key: string, value: unknown): unknown {
  return key === "__proto__" ? undefined : value;
}

async function readText(context: HttpContext, limit: number): Promise<string> {
  const declared = context.req.header("content-length");
  if (declared !== undefined && context.req.header("transfer-encoding") === undefined) {
    if (Number(declared) > limit) throw tooLarge(limit);
    return context.req.text();
  }
  const body = context.req.raw.body;
  if (body === null) return "";
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of body) {
    size += part.byteLength;
    if (size > limit) throw tooLarge(limit);
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

function tooLarge(limit: number): HTTPException {
  const message = `Request body is larger than the limit of ${limit} bytes. Send less, or raise MILLRACE_BODY_LIMIT.`;
  return new HTTPException(413, { message });
}

/** Whether the brackets of a JSON text nest deeper than `limit`; looks at the text, so depth costs no stack. */
export function nestedDeeperThan(text: string, limit: number): boolean {
  return hasMark(text, (_, depth) => depth > limit);
}

/** Whether an object of a JSON text, which is nested no deeper than is allowed, has more keys than are taken; short texts are not looked at. */
export function hasLargeObject(text: string): boolean {
  // A key is at least two quotes, a colon, a value and a comma.
  if (text.length < mostKeys * 5) return false;
  const keys = new Uint32Array(maximumDepth + 2);
  return hasMark(text, (isColon, depth) => {
    const count = isColon ? (keys[depth] ?? 0) + 1 : 0;
    keys[depth] = count;
    return count > mostKeys;
  });
}

/** Whether an opening bracket or a colon of a JSON text, outside of its strings, is the one; `depth` counts the brackets around. */
function hasMark(text: string, isIt: (isColon: boolean, depth: number) => boolean): boolean {
  let depth = 0;
  let inString = false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (inString) {
      if (code === 92 /* \ */) index++;
      else if (code === 34 /* " */) inString = false;
    } else if (code === 34) inString = true;
    else if (code === 91 /* [ */ || code === 123 /* { */) {
      if (isIt(false, ++depth)) return true;
    } else if (code === 93 /* ] */ || code === 125 /* } */) depth--;
    else if (code === 58 /* : */ && isIt(true, depth)) return true;
  }
  return false;
}
