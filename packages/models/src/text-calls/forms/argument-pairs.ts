import { CallDraft } from "../call-draft.ts";
import type { CallReading } from "../call-reading.ts";
import type { Cursor, Reading } from "../cursor.ts";
import { readToolName } from "./literal.ts";
import { addSpace, readSpace, readTag, tagNames } from "./tag.ts";
import { readValue } from "./value.ts";

const maxSpaceLength = 100;

/**
 * Parses GLM's raw format, left by servers that do not parse it: in `<tool_call>` the tool's name, then pairs of
 * `<arg_key>` and `<arg_value>`. Returns `undefined` for a call, even a broken one, else the consumed text. `around` is
 * the closing tag of its envelope.
 */
export function* readArgumentPairs(
  { cursor, parts, isTool }: CallReading,
  around: string,
): Reading<string | undefined> {
  const name = yield* readToolName(cursor);
  if (!isTool(name)) return name;
  const space = yield* readSpace(cursor, maxSpaceLength);
  while (cursor.mustWait) yield;
  const names = tagNames(["arg_key", "arg_value", around]);
  if (cursor.char !== "<") return name + space;
  const first = yield* readTag(cursor, names);
  if (first.tag === undefined || first.tag.name === "arg_value") return name + space + first.raw;
  cursor.unread(first.raw);
  yield* readPairs(cursor, new CallDraft(name, name + space, parts), around);
  return undefined;
}

function* readPairs(cursor: Cursor, draft: CallDraft, around: string): Reading<void> {
  const names = tagNames(["arg_key", "arg_value", around]);
  let key: string | undefined;
  for (;;) {
    yield* addSpace(cursor, draft);
    const { raw, tag } = cursor.char === "<" ? yield* readTag(cursor, names) : { raw: "", tag: undefined };
    if (tag?.name === around && key === undefined) {
      // The envelope's reader must see its end.
      cursor.unread(raw);
      return draft.finish();
    }
    draft.add(raw);
    const wanted = key === undefined ? "arg_key" : "arg_value";
    if (tag?.name !== wanted) {
      return draft.fail(cursor.isAtEnd ? "unclosed" : "malformed", `Expected <${wanted}>.`);
    }
    const value = yield* readValue(cursor, `</${wanted}>`, draft);
    if (value === undefined) return draft.fail("unclosed", `The reply ended before </${wanted}>.`);
    if (key !== undefined) draft.set(key, value);
    key = key === undefined ? value : undefined;
  }
}
