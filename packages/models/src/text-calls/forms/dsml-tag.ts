import type { Cursor, Reading } from "../cursor.ts";
import { readLiteral } from "./literal.ts";
import { readRest, tagNames } from "./tag.ts";

/** A tag of DeepSeek's markup. */
export interface DsmlTag {
  /** With a leading slash for a closing tag. */
  name: string;
  /** Whether it is self-closing. */
  isWhole: boolean;
  /** Its `name` attribute. */
  about: string | undefined;
  /** Whether its value is text (`string="true"`) or JSON; `undefined` if unspecified. */
  isText: boolean | undefined;
  /** The closing tag, with the same bars. */
  closing: string;
}

const names = tagNames(["function_calls", "tool_calls", "calls", "invoke", "parameter"]);
const named = /\sname\s*=\s*(?:"([^"]*)"|'([^']*)')/u;
const typed = /\sstring\s*=\s*["']?(true|false)/u;
/** Models write one bar or two, and servers may turn them into ASCII ones. */
const maxBars = 2;

/**
 * Parses a tag such as `<｜DSML｜invoke name="…">`. `raw` is the consumed text. Without a `tag` there is none, which is
 * known at the first mismatching character.
 */
export function* readDsmlTag(cursor: Cursor): Reading<{ raw: string; tag: DsmlTag | undefined }> {
  let raw = yield* readLiteral(cursor, "<");
  if (raw === "") return { raw, tag: undefined };
  const slash = yield* readLiteral(cursor, "/");
  const before = yield* readBars(cursor);
  raw += slash + before;
  if (before === "") return { raw, tag: undefined };
  const dsml = yield* readLiteral(cursor, "DSML");
  raw += dsml;
  if (dsml !== "DSML") return { raw, tag: undefined };
  const after = yield* readBars(cursor);
  raw += after;
  if (after === "") return { raw, tag: undefined };
  const space = yield* readLiteral(cursor, " ");
  const name = yield* readName(cursor);
  raw += space + name;
  if (!names.has(name)) return { raw, tag: undefined };
  const rest = yield* readRest(cursor);
  raw += rest;
  if (!/^(?:\s[^]*|\s*\/?)>$/u.test(rest)) return { raw, tag: undefined };
  const about = named.exec(rest);
  const isText = typed.exec(rest)?.[1];
  return {
    raw,
    tag: {
      name: slash + name,
      isWhole: rest.endsWith("/>"),
      about: about?.[1] ?? about?.[2],
      isText: isText === undefined ? undefined : isText === "true",
      closing: `</${before}DSML${after}${space}${name}>`,
    },
  };
}

function* readBars(cursor: Cursor): Reading<string> {
  let bars = "";
  for (;;) {
    while (cursor.mustWait) yield;
    if ((cursor.char !== "｜" && cursor.char !== "|") || bars.length >= maxBars) return bars;
    bars += cursor.char;
    cursor.skip();
  }
}

function* readName(cursor: Cursor): Reading<string> {
  let name = "";
  for (;;) {
    while (cursor.mustWait) yield;
    if (cursor.char === "" || !names.mayBegin(name + cursor.char)) return name;
    name += cursor.char;
    cursor.skip();
  }
}
