import { jsonrepair } from "jsonrepair";
import { z } from "zod";
import { CallDraft } from "../call-draft.ts";
import type { CallReading } from "../call-reading.ts";
import type { Cursor, Reading } from "../cursor.ts";

/** Maximum nesting: repairing deeper JSON would overflow the stack. */
const deepest = 64;

const Arguments = z.record(z.string(), z.unknown());

/**
 * Parses a call's arguments at the next `{`; `read` is the call's text so far. Complete but invalid JSON is repaired,
 * truncated JSON never.
 */
export function* readArguments({ cursor, parts }: CallReading, name: string, read: string): Reading<void> {
  const draft = new CallDraft(name, `${read}{`, parts);
  cursor.skip();
  const text = yield* readBalanced(cursor, '"', draft);
  if (text === undefined) return draft.fail("unclosed", "The reply ended before the JSON of the call did.");
  if (!draft.isOpen) return;
  const args = asArguments(parseJson(`{${text}`));
  if (args === undefined) draft.fail("malformed", 'Expected the arguments as JSON: {"key": "value"}.');
  else draft.finish(args);
}

/** Consumes up to the closing brace of a JSON object. `undefined` if the reply ended first. */
export function* readBalanced(cursor: Cursor, quote: string, draft: CallDraft): Reading<string | undefined> {
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

/** Scans JSON to the end of the chunk, the closing brace, or excessive nesting; returns the position after it. */
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

/** The value as arguments, if it is an object. */
export function asArguments(value: unknown): Record<string, unknown> | undefined {
  const args = Arguments.safeParse(value);
  return args.success ? args.data : undefined;
}

/** The value of a JSON text, repaired if broken; `undefined` beyond repair. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Invalid JSON, usually an extra comma or a line break in a string.
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
