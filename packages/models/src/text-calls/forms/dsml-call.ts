import { CallDraft } from "../call-draft.ts";
import type { CallReading } from "../call-reading.ts";
import type { Cursor, Reading } from "../cursor.ts";
import { readDsmlTag, type DsmlTag } from "./dsml-tag.ts";
import { asArguments, parseJson, readBalanced } from "./json-object.ts";
import { addSpace, readSpace } from "./tag.ts";
import { readUntil } from "./value.ts";

const maxSpaceLength = 100;
const envelopes = new Set(["function_calls", "tool_calls", "calls"]);
const expected =
  'Expected <｜DSML｜parameter name="…" string="true|false">value</｜DSML｜parameter> or </｜DSML｜invoke>.';

/**
 * Parses DeepSeek's raw format since V3.2, left by servers that do not parse it: `<｜DSML｜function_calls>` (V4:
 * `tool_calls`) around `<｜DSML｜invoke name="…">` with parameters as text or JSON (`string="false"`), or one JSON
 * object. Returns `undefined` for calls, even a broken one, else the consumed text.
 */
export function* readDsmlCalls(reading: CallReading): Reading<string | undefined> {
  const { cursor } = reading;
  let read: string | undefined = "";
  let isOpen = false;
  for (;;) {
    const space: string = yield* readSpace(cursor, maxSpaceLength);
    const { raw, tag }: { raw: string; tag: DsmlTag | undefined } = yield* readDsmlTag(cursor);
    if (tag?.name === "invoke" && tag.about !== undefined && reading.mayName(tag.about)) {
      yield* readInvoke(reading, tag, (read ?? "") + space + raw);
      read = undefined;
      if (!isOpen) return undefined;
    } else if (tag !== undefined && envelopes.has(tag.name) && read === "") {
      read = raw;
      isOpen = true;
    } else if (tag !== undefined && envelopes.has(tag.name.slice(1)) && read === undefined) {
      return undefined;
    } else if (read === undefined) {
      // The envelope ended without its closing tag; what follows is prose.
      cursor.unread(space + raw);
      return undefined;
    } else return read + space + raw;
  }
}

/** Parses one call after its opening tag, including the closing one. */
function* readInvoke(reading: CallReading, { about = "", isWhole }: DsmlTag, opened: string): Reading<void> {
  const { cursor } = reading;
  const draft = new CallDraft(about, opened, reading.parts);
  if (isWhole) return draft.finish();
  const args = new Map<string, unknown>();
  yield* addSpace(cursor, draft);
  if (cursor.char === "{") yield* readObject(cursor, draft, args);
  for (;;) {
    yield* addSpace(cursor, draft);
    const { raw, tag } = yield* readDsmlTag(cursor);
    draft.add(raw);
    if (tag?.name === "/invoke") return draft.finish(Object.fromEntries(args));
    if (tag !== undefined && envelopes.has(tag.name.slice(1))) {
      // The envelope ends here, and its reader must see that.
      cursor.unread(raw);
      return draft.fail("malformed", `${expected} The call is not closed.`);
    }
    if (tag?.name !== "parameter" || tag.about === undefined) {
      const { isAtEnd } = cursor;
      draft.fail(isAtEnd ? "unclosed" : "malformed", isAtEnd ? "The reply ended inside the call." : expected);
      return yield* passOver(cursor);
    }
    if (!(yield* readParameter(cursor, draft, tag, args))) return;
  }
}

/** Parses a parameter's value up to its closing tag; false if the reply ended first. */
function* readParameter(cursor: Cursor, draft: CallDraft, tag: DsmlTag, args: Map<string, unknown>): Reading<boolean> {
  const { about = "", closing, isText } = tag;
  let value = "";
  const isClosed =
    tag.isWhole ||
    (yield* readUntil(cursor, closing, (text) => {
      draft.add(text);
      value = draft.isOpen ? value + text : "";
    }));
  if (!isClosed) draft.fail("unclosed", `The reply ended before ${closing}.`);
  else if (!tag.isWhole) draft.add(closing);
  if (!draft.isOpen) return isClosed;
  // If unspecified, the tool's schema decides.
  if (isText === undefined) draft.set(about, value);
  // A value marked as JSON that is invalid stays text, so that the tool's own validation names the parameter.
  else args.set(about, isText ? value : (parseJson(value) ?? value));
  return true;
}

/** Parses arguments given as one JSON object. */
function* readObject(cursor: Cursor, draft: CallDraft, args: Map<string, unknown>): Reading<void> {
  cursor.skip();
  draft.add("{");
  const text = yield* readBalanced(cursor, '"', draft);
  if (text === undefined) return draft.fail("unclosed", "The reply ended before the JSON of the call did.");
  if (!draft.isOpen) return;
  const given = asArguments(parseJson(`{${text}`));
  if (given === undefined) draft.fail("malformed", 'Expected the arguments as JSON: {"key": "value"}.');
  else for (const [key, value] of Object.entries(given)) args.set(key, value);
}

/** Skips the rest of a broken call, so that it is not shown as text. */
function* passOver(cursor: Cursor): Reading<void> {
  for (;;) {
    while (cursor.mustWait) yield;
    if (cursor.isAtEnd) return;
    if (cursor.char !== "<") {
      cursor.takeUntil(/</g);
      continue;
    }
    const { raw, tag } = yield* readDsmlTag(cursor);
    if (tag?.name === "/invoke") return;
    if (tag !== undefined && envelopes.has(tag.name.slice(1))) {
      cursor.unread(raw);
      return;
    }
  }
}
