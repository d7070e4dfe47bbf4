import { z } from "zod";
import { CallDraft } from "../call-draft.ts";
import type { Cursor, Reading } from "../cursor.ts";
import { asArguments, parseJson, readBalanced } from "./json-object.ts";
import { readSpace } from "./tag.ts";
import type { PartList } from "./tool-use.ts";

const nameKeys = ["tool", "name"];
const argumentKeys = ["arguments", "parameters", "args", "input"];
const maxNameLength = 64;
const maxSpaceLength = 100;
const Call = z.looseObject(Object.fromEntries(argumentKeys.map((key) => [key, z.unknown().optional()])));

/**
 * Parses a JSON call at a `{`: `{"tool": "…", "arguments": {…}}` with a tool's name. Returns `undefined` for a call,
 * even a broken one, else the consumed text. Complete but invalid JSON is repaired, truncated JSON never.
 */
export function* readJsonCall(
  { cursor, parts }: { cursor: Cursor; parts: PartList },
  isTool: (name: string) => boolean,
): Reading<string | undefined> {
  const head = yield* readHead(cursor, isTool);
  if (head.call === undefined) return head.raw;
  const draft = new CallDraft(head.call.name, head.raw, parts);
  const text = yield* readBalanced(cursor, head.call.quote, draft);
  if (text === undefined) draft.fail("unclosed", "The reply ended before the JSON of the call did.");
  if (text === undefined || !draft.isOpen) return undefined;
  const args = parseArguments(head.raw + text);
  if (args === undefined) draft.fail("malformed", 'Expected {"tool": "name", "arguments": {"key": "value"}}.');
  else draft.finish(args);
  return undefined;
}

/** Consumes just enough to recognise a call: up to the name, and the arguments' key if there is one. */
function* readHead(
  cursor: Cursor,
  isTool: (name: string) => boolean,
): Reading<{ raw: string; call?: { name: string; quote: string } }> {
  let raw = "{";
  cursor.skip();
  const texts: { text: string; quote: string }[] = [];
  for (const mark of [":", ",", ":"]) {
    raw += yield* readSpace(cursor, maxSpaceLength);
    const found = yield* readText(cursor);
    raw += found.raw;
    if (found.text === undefined) return { raw };
    texts.push({ text: found.text, quote: found.raw.charAt(0) });
    const isRight = [nameKeys.includes(found.text), isTool(found.text), argumentKeys.includes(found.text)];
    if (isRight[texts.length - 1] !== true) return { raw };
    raw += yield* readSpace(cursor, maxSpaceLength);
    while (cursor.mustWait) yield;
    const [key, name] = texts;
    const isBare = cursor.char === "}" && texts.length === 2 && key?.text === "tool";
    // The closing brace is left to the next reader.
    if (isBare && name !== undefined) return { raw, call: { name: name.text, quote: name.quote } };
    if (cursor.char !== mark) return { raw };
    raw += mark;
    cursor.skip();
  }
  const name = texts[1];
  return name === undefined ? { raw } : { raw, call: { name: name.text, quote: name.quote } };
}

/** Consumes a short quoted text without escapes. */
function* readText(cursor: Cursor): Reading<{ raw: string; text?: string }> {
  while (cursor.mustWait) yield;
  const quote = cursor.char;
  if (quote !== '"' && quote !== "'") return { raw: "" };
  let raw = quote;
  cursor.skip();
  for (;;) {
    while (cursor.mustWait) yield;
    const { char } = cursor;
    const isEnd = char === quote;
    if (!isEnd && (!/[\w.-]/.test(char) || raw.length > maxNameLength)) return { raw };
    raw += char;
    cursor.skip();
    if (isEnd) return { raw, text: raw.slice(1, -1) };
  }
}

/** A call's arguments, possibly JSON within a string; `undefined` if not an object. */
function parseArguments(text: string): Record<string, unknown> | undefined {
  const call = Call.safeParse(parseJson(text));
  if (!call.success) return undefined;
  const given = argumentKeys.map((key) => call.data[key]).find((value) => value !== undefined);
  return asArguments(typeof given === "string" ? parseJson(given) : (given ?? {}));
}
