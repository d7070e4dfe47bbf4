import { readArgumentPairs } from "./argument-pairs.ts";
import { CallDraft } from "../call-draft.ts";
import type { CallReading } from "../call-reading.ts";
import type { Cursor, Reading } from "../cursor.ts";
import { readJsonCall } from "./json-call.ts";
import { addSpace, readSpace, readTag, tagNames, type Tag, type TagNames } from "./tag.ts";
import { readValue } from "./value.ts";

/** Characters of white space between two tags, while it is not yet known to be a call. */
const longestSpace = 1000;

/** Tags that stand around calls, and nothing else but calls stands in them. */
export const envelopes = ["tool_use", "tool_call", "tool_calls", "function_calls"];

/**
 * Reads what follows the opening tag of an envelope. `undefined`: it was calls, or one that is broken and was reported.
 * A text: no call began, and this was read.
 */
export function* readEnvelope(reading: CallReading, opened: string, name: string): Reading<string | undefined> {
  const { cursor, tools } = reading;
  const closing = `/${name}`;
  const names = tagNames([closing, "invoke", "function", ...tools]);
  let read: string | undefined = opened;
  for (;;) {
    const space: string = yield* readSpace(cursor, longestSpace);
    if (read !== undefined) read += space;
    while (cursor.mustWait) yield;
    if (cursor.char === "{") {
      const json: string | undefined = yield* readJsonCall(reading, reading.mayName);
      if (json !== undefined) return read === undefined ? giveBack(cursor, json) : read + json;
    } else if (cursor.char === "<") {
      const { raw, tag }: { raw: string; tag: Tag | undefined } = yield* readTag(cursor, names);
      if (tag?.name === closing) return read === undefined ? undefined : read + raw;
      if (tag === undefined) return read === undefined ? giveBack(cursor, raw) : read + raw;
      const other: string | undefined = yield* readTagged(reading, raw, tag, closing);
      if (other !== undefined) return read === undefined ? giveBack(cursor, other) : read + other;
    } else {
      const other: string | undefined = yield* readArgumentPairs(reading, closing);
      if (other !== undefined) return read === undefined ? giveBack(cursor, other) : read + other;
    }
    read = undefined;
  }
}

/** The envelope has ended without its closing tag; what follows is prose. */
function giveBack(cursor: Cursor, raw: string): undefined {
  cursor.unread(raw);
  return undefined;
}

/**
 * Reads a call whose opening tag was read: `<invoke name="…">` (grammar A), `<function=…>`, or a tool's own tag (grammar B).
 * `undefined` when it was one, or was reported; else what was read. `around` is the closing tag of its envelope.
 */
export function* readTagged(
  reading: CallReading,
  opened: string,
  tag: Tag,
  around?: string,
): Reading<string | undefined> {
  const { about } = tag;
  const isNamed = tag.name === "invoke" || tag.name === "function";
  if (!isNamed) return yield* readOwnTag(reading, opened, tag, around);
  const mayName = around === undefined ? reading.isTool : reading.mayName;
  if (about === undefined || !mayName(about)) return opened;
  const draft = new CallDraft(about, opened, reading.parts);
  if (tag.isWhole) draft.finish();
  else yield* readParameters(reading, draft, namedParameters(tag.name), around);
  return undefined;
}

/** Grammar B: it is a call once the tag is followed by another or is closed, for in prose words follow it. */
function* readOwnTag(
  reading: CallReading,
  opened: string,
  tag: Tag,
  around: string | undefined,
): Reading<string | undefined> {
  const { cursor, parts } = reading;
  if (tag.about !== undefined) return opened;
  if (tag.isWhole) {
    new CallDraft(tag.name, opened, parts).finish();
    return undefined;
  }
  const form = ownParameters(tag.name);
  if (around !== undefined) {
    yield* readParameters(reading, new CallDraft(tag.name, opened, parts), form, around);
    return undefined;
  }
  const read = opened + (yield* readSpace(cursor, longestSpace));
  while (cursor.mustWait) yield;
  if (cursor.char !== "<") return read;
  const { raw, tag: next } = yield* readTag(cursor, form.names(undefined));
  if (next === undefined) return read + raw;
  cursor.unread(raw);
  yield* readParameters(reading, new CallDraft(tag.name, read, parts), form, undefined);
  return undefined;
}

/** How the parameters of a call are written. */
interface ParameterForm {
  /** The name of the tag that ends the call. */
  closing: string;
  names(around: string | undefined): TagNames;
  /** The parameter that a tag begins, and the tag that ends it. */
  parameter(tag: Tag): { name: string; closing: string } | undefined;
  expected: string;
}

function namedParameters(call: string): ParameterForm {
  const closing = `/${call}`;
  return {
    closing,
    names: (around) => tagNames(["parameter", closing, ...(around === undefined ? [] : [around])]),
    parameter: ({ name, about }) =>
      name === "parameter" && about !== undefined ? { name: about, closing: "</parameter>" } : undefined,
    expected: `Expected <parameter name="…">value</parameter> or <${closing}>.`,
  };
}

function ownParameters(tool: string): ParameterForm {
  const closing = `/${tool}`;
  const identifier = /^[A-Za-z_][\w.-]{0,63}$/;
  return {
    closing,
    names: (around) => {
      const closings = tagNames(around === undefined ? [closing] : [closing, around]);
      return {
        has: (name) => identifier.test(name) || closings.has(name),
        mayBegin: (name) => identifier.test(name) || closings.mayBegin(name),
      };
    },
    parameter: ({ name, about }) =>
      about === undefined && !name.startsWith("/") ? { name, closing: `</${name}>` } : undefined,
    expected: `Expected <parameter_name>value</parameter_name> or <${closing}>.`,
  };
}

/** Reads the parameters of a call and its end. What is wrong is reported, and the rest of the call is passed over. */
function* readParameters(
  { cursor }: CallReading,
  draft: CallDraft,
  form: ParameterForm,
  around: string | undefined,
): Reading<void> {
  const names = form.names(around);
  for (;;) {
    yield* addSpace(cursor, draft);
    const { raw, tag } = cursor.char === "<" ? yield* readTag(cursor, names) : { raw: "", tag: undefined };
    draft.add(raw);
    if (tag?.name === form.closing) return draft.finish();
    if (tag?.name === around && around !== undefined) {
      // The envelope ends here, and its reader has to see that.
      cursor.unread(raw);
      return draft.fail("malformed", `${form.expected} The call is not closed.`);
    }
    const parameter = tag === undefined ? undefined : form.parameter(tag);
    if (parameter === undefined) {
      const { isAtEnd } = cursor;
      draft.fail(isAtEnd ? "unclosed" : "malformed", isAtEnd ? "The reply ended inside the call." : form.expected);
      return yield* passOver(cursor, form.closing, around);
    }
    if (tag?.isWhole === true) {
      draft.set(parameter.name, "");
      continue;
    }
    const value = yield* readValue(cursor, parameter.closing, draft);
    if (value === undefined) return draft.fail("unclosed", `The reply ended before ${parameter.closing}.`);
    draft.set(parameter.name, value);
  }
}

/** Skips the rest of a broken call, so that it is not shown as text. */
function* passOver(cursor: Cursor, closing: string, around: string | undefined): Reading<void> {
  const names = tagNames(around === undefined ? [closing] : [closing, around]);
  for (;;) {
    while (cursor.mustWait) yield;
    if (cursor.isAtEnd) return;
    if (cursor.char !== "<") {
      cursor.takeUntil(/</g);
      continue;
    }
    const { raw, tag } = yield* readTag(cursor, names);
    if (tag === undefined) continue;
    if (tag.name === around) cursor.unread(raw);
    return;
  }
}
