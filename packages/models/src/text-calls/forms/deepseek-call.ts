import { CallDraft } from "../call-draft.ts";
import type { CallReading } from "../call-reading.ts";
import type { Cursor, Reading } from "../cursor.ts";
import { readArguments } from "./json-object.ts";
import { readLiteral, readToolName } from "./literal.ts";
import { readSpace } from "./tag.ts";

const maxSpaceLength = 100;
const fence = "```";

/** DeepSeek's special tokens. */
const mark = {
  calls: "<｜tool▁calls▁begin｜>",
  call: "<｜tool▁call▁begin｜>",
  separator: "<｜tool▁sep｜>",
  callEnd: "<｜tool▁call▁end｜>",
  callsEnd: "<｜tool▁calls▁end｜>",
};
const marks = new Set(Object.values(mark));
const beginnings = new Set([...marks].flatMap((text) => Array.from(text, (_, at) => text.slice(0, at + 1))));

/**
 * Parses DeepSeek's raw format, left by servers that do not parse it: `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>`, the
 * name, `<｜tool▁sep｜>` and JSON (V3.1), or `function`, the mark, the name and JSON in a code block (V3, R1). Bars and
 * blocks may also be `|` and `_`. Returns `undefined` for calls, even a broken one, else the consumed text.
 */
export function* readDeepSeekCalls(reading: CallReading): Reading<string | undefined> {
  const { cursor } = reading;
  let read: string | undefined = "";
  for (;;) {
    const { raw, found }: { raw: string; found: string | undefined } = yield* readMark(cursor);
    if (found === mark.call) {
      const other: string | undefined = yield* readCall(reading, (read ?? "") + raw);
      if (other !== undefined) return unreadText(cursor, read, raw + other);
      read = undefined;
    } else if (found === mark.calls && read === "") {
      read = raw;
    } else if (found === mark.callsEnd && read === undefined) {
      return undefined;
    } else return unreadText(cursor, read, raw);
  }
}

/** Text that is not a call follows what was consumed; after a call it is read again as prose. */
function unreadText(cursor: Cursor, read: string | undefined, other: string): string | undefined {
  if (read !== undefined) return read + other;
  cursor.unread(other);
  return undefined;
}

/** Parses one call after its opening mark, including the closing one. */
function* readCall(reading: CallReading, opened: string): Reading<string | undefined> {
  const { cursor, parts, mayName } = reading;
  const first = yield* readToolName(cursor);
  const separator = yield* readMark(cursor);
  let raw = first + separator.raw;
  if (separator.found !== mark.separator) return raw;
  // A tool's name may follow the call's kind.
  const second = first === "function" ? yield* readToolName(cursor) : "";
  const name = second === "" ? first : second;
  raw += second;
  if (!mayName(name)) return raw;
  raw += yield* readFence(cursor, "json");
  while (cursor.mustWait) yield;
  if (cursor.char === "{") {
    yield* readArguments(reading, name, opened + raw);
    const closed = yield* readFence(cursor, "");
    if (!closed.includes(fence)) cursor.unread(closed);
  } else {
    const draft = new CallDraft(name, opened + raw, parts);
    draft.fail(cursor.isAtEnd ? "unclosed" : "malformed", `Expected the arguments as JSON behind ${mark.separator}.`);
    return yield* passOver(cursor);
  }
  const end = yield* readMark(cursor);
  if (end.found !== mark.callEnd) cursor.unread(end.raw);
  return undefined;
}

/** Skips the rest of a broken call, so that it is not shown as text. */
function* passOver(cursor: Cursor): Reading<undefined> {
  for (;;) {
    while (cursor.mustWait) yield;
    if (cursor.isAtEnd) return undefined;
    if (cursor.char !== "<") {
      cursor.takeUntil(/</g);
      continue;
    }
    const { raw, found } = yield* readMark(cursor);
    if (found === mark.callEnd) return undefined;
    if (found !== undefined) {
      cursor.unread(raw);
      return undefined;
    }
  }
}

/** Consumes white space that contains the start or end of a code block. */
function* readFence(cursor: Cursor, language: string): Reading<string> {
  const space = yield* readSpace(cursor, maxSpaceLength);
  const opened = yield* readLiteral(cursor, fence);
  if (opened !== fence) return space + opened;
  const named = yield* readLiteral(cursor, language);
  return space + opened + named + (yield* readSpace(cursor, maxSpaceLength));
}

/** Consumes white space and a mark. Without a mark, `raw` is the consumed text. */
function* readMark(cursor: Cursor): Reading<{ raw: string; found: string | undefined }> {
  let raw = yield* readSpace(cursor, maxSpaceLength);
  let plain = "";
  for (;;) {
    while (cursor.mustWait) yield;
    const next = plain + cursor.char.replace("|", "｜").replace(/[_ ]/, "▁");
    if (cursor.char === "" || !beginnings.has(next)) return { raw, found: undefined };
    raw += cursor.char;
    plain = next;
    cursor.skip();
    if (marks.has(plain)) return { raw, found: plain };
  }
}
