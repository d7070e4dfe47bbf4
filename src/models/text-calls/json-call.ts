import { jsonrepair } from "jsonrepair";
import { z } from "zod";
import { CallDraft } from "./call-draft.ts";
import type { Cursor, Reading } from "./cursor.ts";
import { readSpace } from "./tag.ts";
import type { PartList } from "./tool-use.ts";

const nameKeys = ["tool", "name"];
const argumentKeys = ["arguments", "parameters", "args", "input"];
const longestName = 64;
const longestSpace = 100;
/** Lists and objects in one another; nobody needs more, and the repair of deeper ones would run out of stack. */
const deepest = 64;

const Arguments = z.record(z.string(), z.unknown());
const Call = z.looseObject(Object.fromEntries(argumentKeys.map((key) => [key, z.unknown().optional()])));

/**
 * Reads a call in JSON (XML-13) at a `{`: `{"tool": "…", "arguments": {…}}` with a name that is a tool's. `undefined` when
 * it was one, or was reported; else what was read. What is whole but no JSON is repaired; what breaks off never is.
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

/** Reads as far as it takes to know that it is a call: up to the name, and the key of the arguments where there are any. */
function* readHead(
  cursor: Cursor,
  isTool: (name: string) => boolean,
): Reading<{ raw: string; call?: { name: string; quote: string } }> {
  let raw = "{";
  cursor.skip();
  const texts: { text: string; quote: string }[] = [];
  for (const mark of [":", ",", ":"]) {
    raw += yield* readSpace(cursor, longestSpace);
    const found = yield* readText(cursor);
    raw += found.raw;
    if (found.text === undefined) return { raw };
    texts.push({ text: found.text, quote: found.raw.charAt(0) });
    const isRight = [nameKeys.includes(found.text), isTool(found.text), argumentKeys.includes(found.text)];
    if (isRight[texts.length - 1] !== true) return { raw };
    raw += yield* readSpace(cursor, longestSpace);
    while (cursor.mustWait) yield;
    const [key, name] = texts;
    const isBare = cursor.char === "}" && texts.length === 2 && key?.text === "tool";
    // The closing brace is left for who reads the rest.
    if (isBare && name !== undefined) return { raw, call: { name: name.text, quote: name.quote } };
    if (cursor.char !== mark) return { raw };
    raw += mark;
    cursor.skip();
  }
  const name = texts[1];
  return name === undefined ? { raw } : { raw, call: { name: name.text, quote: name.quote } };
}

/** Reads a short text in quotes without escapes. */
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
    if (!isEnd && (!/[\w.-]/.test(char) || raw.length > longestName)) return { raw };
    raw += char;
    cursor.skip();
    if (isEnd) return { raw, text: raw.slice(1, -1) };
  }
}

/** Reads to the brace that closes the call. `undefined` when the reply ended before it. */
function* readBalanced(cursor: Cursor, quote: string, draft: CallDraft): Reading<string | undefined> {
  const place = { depth: 1, isText: false, isEscaped: false };
  let text = "";
  for (;;) {
    while (cursor.mustWait) yield;
    if (cursor.isAtEnd) return undefined;
    const piece = cursor.takeAll();
    const end = follow(piece, quote, place);
    const read = piece.slice(0, end);
    cursor.unread(piece.slice(end));
    draft.add(read);
    if (place.depth > deepest) {
      draft.fail("malformed", `The arguments are nested more than ${deepest} levels deep.`);
    }
    text = draft.isOpen ? text + read : "";
    if (place.depth === 0) return text;
  }
}

/** Follows JSON to the end of the piece, to the closing brace, or to where it is too deep; gives the place after it. */
function follow(piece: string, quote: string, place: { depth: number; isText: boolean; isEscaped: boolean }): number {
  const inText = quote === '"' ? /["\\]/g : /['\\]/g;
  for (let at = 0; at < piece.length; at += 1) {
    if (place.isText && !place.isEscaped) {
      inText.lastIndex = at;
      if (!inText.test(piece)) return piece.length;
      at = inText.lastIndex - 1;
    }
    const char = piece[at];
    if (place.isEscaped) place.isEscaped = false;
    else if (place.isText && char === "\\") place.isEscaped = true;
    else if (char === quote) place.isText = !place.isText;
    else if (!place.isText && (char === "{" || char === "[")) place.depth += 1;
    else if (!place.isText && (char === "}" || char === "]")) place.depth -= 1;
    else continue;
    if (place.depth === 0 || place.depth === deepest + 1) return at + 1;
  }
  return piece.length;
}

/** The arguments of a call, which may themselves be JSON in a text; `undefined` when they are no object. */
function parseArguments(text: string): Record<string, unknown> | undefined {
  const call = Call.safeParse(parseJson(text));
  if (!call.success) return undefined;
  const given = argumentKeys.map((key) => call.data[key]).find((value) => value !== undefined);
  const args = Arguments.safeParse(typeof given === "string" ? parseJson(given) : (given ?? {}));
  return args.success ? args.data : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON as it stands; most often a comma too many, or a line break in a text.
    return repaired(text);
  }
}

function repaired(text: string): unknown {
  try {
    return JSON.parse(jsonrepair(text));
  } catch {
    // Beyond repair: the call is reported as malformed.
    return undefined;
  }
}
