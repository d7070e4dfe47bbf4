import type { CallReading } from "../call-reading.ts";
import type { Reading } from "../cursor.ts";
import { readJsonCall } from "./json-call.ts";
import { readArguments } from "./json-object.ts";
import { readLiteral, readToolName } from "./literal.ts";
import { readSpace } from "./tag.ts";

const opening = "[TOOL_CALLS]";
const callId = "[CALL_ID]";
const args = "[ARGS]";
const maxSpaceLength = 100;

/**
 * Parses Mistral's raw format at a `[`, left by servers that do not parse it: `[TOOL_CALLS]` and a JSON list of calls,
 * or a tool's name, `[ARGS]` and its arguments. Returns `undefined` for calls, even a broken one, else the consumed
 * text.
 */
export function* readMistralCalls(reading: CallReading): Reading<string | undefined> {
  const { cursor } = reading;
  const opened = yield* readLiteral(cursor, opening);
  if (opened !== opening) return opened;
  const read = opened + (yield* readSpace(cursor, maxSpaceLength));
  while (cursor.mustWait) yield;
  return cursor.char === "[" ? yield* readList(reading, read) : yield* readNamed(reading, read);
}

function* readList(reading: CallReading, opened: string): Reading<string | undefined> {
  const { cursor, mayName } = reading;
  let read: string | undefined = `${opened}[`;
  cursor.skip();
  for (;;) {
    const space: string = yield* readSpace(cursor, maxSpaceLength);
    while (cursor.mustWait) yield;
    const { char } = cursor;
    if (char === "{") {
      const other: string | undefined = yield* readJsonCall(reading, mayName);
      if (other !== undefined && read !== undefined) return read + space + other;
      if (other !== undefined) {
        // The list ended without its bracket; what follows is prose.
        cursor.unread(other);
        return undefined;
      }
      read = undefined;
    } else if (read !== undefined) {
      return read + space;
    } else if (char === "," || char === "]") {
      cursor.skip();
      if (char === "]") return undefined;
    } else return undefined;
  }
}

function* readNamed(reading: CallReading, opened: string): Reading<string | undefined> {
  const { cursor, mayName } = reading;
  const name = yield* readToolName(cursor);
  let read = opened + name;
  if (name === "" || !mayName(name)) return read;
  const id = yield* readLiteral(cursor, callId);
  if (id === callId) read += id + (yield* readToolName(cursor));
  else cursor.unread(id);
  const mark = yield* readLiteral(cursor, args);
  read += mark + (yield* readSpace(cursor, maxSpaceLength));
  while (cursor.mustWait) yield;
  if ((mark !== "" && mark !== args) || cursor.char !== "{") return read;
  yield* readArguments(reading, name, read);
  return undefined;
}
