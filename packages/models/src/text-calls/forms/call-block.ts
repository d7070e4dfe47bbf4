import { readArgumentPairs } from "./argument-pairs.ts";
import { CallDraft } from "../call-draft.ts";
import type { CallReading } from "../call-reading.ts";
import type { Cursor, Reading } from "../cursor.ts";
import { readJsonCall } from "./json-call.ts";
import { addSpace, readSpace, readTag, tagNames, type Tag, type TagNames } from "./tag.ts";
import { readValue } from "./value.ts";

/** Maximum white space between two tags before a call is recognised. */
const maxSpaceLength = 1000;

/** Envelope tags, which contain only calls. */
export const envelopes = ["tool_use", "tool_call", "tool_calls", "function_calls"];

/**
 * Parses an envelope after its opening tag. Returns `undefined` for calls, even a broken one, or the consumed text if
 * no call began.
 */
export function* readEnvelope(reading: CallReading, opened: string, name: string): Reading<string | undefined> {
  const { cursor, tools } = reading;
  const closing = `/${name}`;
  const names = tagNames([closing, "invoke", "function", ...tools]);
  let read: string | undefined = opened;
  for (;;) {
    const space: string = yield* readSpace(cursor, maxSpaceLength);
    if (read !== undefined) read += space;
    while (cursor.mustWait) yield;
    if (cursor.char === "{") {
      const json: string | undefined = yield* readJsonCall(reading, reading.mayName);
      if (json !== undefined) return read === undefined ? unreadText(cursor, json) : read + json;
    } else if (cursor.char === "<") {
      const { raw, tag }: { raw: string; tag: Tag | undefined } = yield* readTag(cursor, names);
      if (tag?.name === closing) return read === undefined ? undefined : read + raw;
      if (tag === undefined) return read === undefined ? unreadText(cursor, raw) : read + raw;
      const other: string | undefined = yield* readTagged(reading, raw, tag, closing);
      if (other !== undefined) return read === undefined ? unreadText(cursor, other) : read + other;
    } else {
      const other: string | undefined = yield* readArgumentPairs(reading, closing);
      if (other !== undefined) return read === undefined ? unreadText(cursor, other) : read + other;
    }
    read = undefined;
  }
}

/** The envelope ended without its closing tag; what follows is prose. */
function unreadText(cursor: Cursor, raw: string): undefined {
  cursor.unread(raw);
  return undefined;
}

/**
 * Parses a call after its opening tag: `<invoke name="…">` (grammar A), `<function=…>`, or a tool's own tag (grammar
 * B). Returns `undefined` for a call, even a broken one, else the consumed text. `around` is the closing tag of its
 * envelope.
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

/** Grammar B: a call must continue with another tag or be closed; in prose, words follow. */
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
  const read = opened + (yield* readSpace(cursor, maxSpaceLength));
  while (cursor.mustWait) yield;
  if (cursor.char !== "<") return read;
  const { raw, tag: next } = yield* readTag(cursor, form.names(undefined));
  if (next === undefined) return read + raw;
  cursor.unread(raw);
  yield* readParameters(reading, new CallDraft(tag.name, read, parts), form, undefined);
  return undefined;
}

/** The notation of a call's parameters. */
interface ParameterForm {
  /** The name of the call's closing tag. */
  closing: string;
  names(around: string | undefined): TagNames;
  /** The parameter that a tag opens, and its closing tag. */
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

/** Parses a call's parameters and its end. On an error, reports it and skips the rest of the call. */
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
      // The envelope ends here, and its reader must see that.
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
