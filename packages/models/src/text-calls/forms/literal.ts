import type { Cursor, Reading } from "../cursor.ts";

const maxNameLength = 64;

/** Consumes as much of `literal` as matches here; compare lengths for a full match. */
export function* readLiteral(cursor: Cursor, literal: string): Reading<string> {
  let read = "";
  while (read.length < literal.length) {
    while (cursor.mustWait) yield;
    if (cursor.char !== literal[read.length]) break;
    read += cursor.char;
    cursor.skip();
  }
  return read;
}

/** Consumes a tool's name of at most 64 characters; empty if there is none. */
export function* readToolName(cursor: Cursor): Reading<string> {
  let name = "";
  for (;;) {
    while (cursor.mustWait) yield;
    if (!/[\w.-]/.test(cursor.char) || name.length >= maxNameLength) return name;
    name += cursor.char;
    cursor.skip();
  }
}
