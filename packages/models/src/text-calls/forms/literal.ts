import type { Cursor, Reading } from "../cursor.ts";

const longestName = 64;

/** Reads `literal` as far as it stands here; it is whole when what comes back is as long. */
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

/** Reads the name of a tool, at most 64 characters; empty where none stands here. */
export function* readToolName(cursor: Cursor): Reading<string> {
  let name = "";
  for (;;) {
    while (cursor.mustWait) yield;
    if (!/[\w.-]/.test(cursor.char) || name.length >= longestName) return name;
    name += cursor.char;
    cursor.skip();
  }
}
