import type { CallDraft } from "../call-draft.ts";
import type { Cursor, Reading } from "../cursor.ts";

/** The allowed tag names at a position; closing tags begin with a slash. */
export interface TagNames {
  has(name: string): boolean;
  mayBegin(name: string): boolean;
}

/** A tag with one of the names. */
export interface Tag {
  name: string;
  /** Whether it is self-closing: `<name/>`. */
  isWhole: boolean;
  /** Its attribute: `<invoke name="value">`, `<function=value>`. */
  about: string | undefined;
}

/** Maximum characters after the name. */
const maxRestLength = 200;
const nameCharacter = /[\w.-]/;
const attribute = /^(?:=|\s[^]*?\bname\s*=)\s*(?:"([^"]*)"|'([^']*)'|([^\s"'/>]+))/;

const known = new Map<string, TagNames>();
/** Cached lists: a server has few, and uses the same in each call. */
const maxLists = 100;

/** A fixed list of names. */
export function tagNames(names: readonly string[]): TagNames {
  const key = names.join(" ");
  const earlier = known.get(key);
  if (earlier !== undefined) return earlier;
  const made = makeNames(names);
  if (known.size >= maxLists) known.clear();
  known.set(key, made);
  return made;
}

function makeNames(names: readonly string[]): TagNames {
  const all = new Set(names);
  const beginnings = new Set([...all].flatMap((name) => Array.from(name, (_, at) => name.slice(0, at + 1))));
  return { has: (name) => all.has(name), mayBegin: (name) => beginnings.has(name) };
}

/**
 * Parses a tag at a `<`. `raw` is the consumed text. Without a `tag` it has none of the names; that is known at the
 * first mismatching character, so little is held back.
 */
export function* readTag(cursor: Cursor, names: TagNames): Reading<{ raw: string; tag: Tag | undefined }> {
  cursor.skip();
  const { name, isOther } = yield* readName(cursor, names);
  if (isOther || !names.has(name)) return { raw: `<${name}`, tag: undefined };
  const rest = yield* readRest(cursor);
  const raw = `<${name}${rest}`;
  const found = attribute.exec(rest);
  const about = found?.[1] ?? found?.[2] ?? found?.[3];
  if (!rest.endsWith(">") || (about === undefined && !/^\s*\/?>$/.test(rest))) return { raw, tag: undefined };
  return { raw, tag: { name, isWhole: rest.endsWith("/>"), about } };
}

/** Consumes a name as far as it may be one of `names`. `isOther`: it continues and matches none. */
function* readName(cursor: Cursor, names: TagNames): Reading<{ name: string; isOther: boolean }> {
  let name = "";
  for (;;) {
    while (cursor.mustWait) yield;
    const { char } = cursor;
    const isName = nameCharacter.test(char) || (char === "/" && name === "");
    if (!isName) return { name, isOther: false };
    if (!names.mayBegin(name + char)) return { name, isOther: true };
    name += char;
    cursor.skip();
  }
}

/** Consumes the rest of a tag after its name, including the `>` if there is one. */
export function* readRest(cursor: Cursor): Reading<string> {
  let rest = "";
  for (;;) {
    while (cursor.mustWait) yield;
    const { char } = cursor;
    if (char === "" || char === "<" || rest.length > maxRestLength) return rest;
    rest += char;
    cursor.skip();
    if (char === ">") return rest;
  }
}

/** Consumes at most `maxLength` characters of white space. */
export function* readSpace(cursor: Cursor, maxLength: number): Reading<string> {
  let space = "";
  for (;;) {
    while (cursor.mustWait) yield;
    const { char } = cursor;
    if (space.length >= maxLength || char === "" || char.trim() !== "") return space;
    space += char;
    cursor.skip();
  }
}

/** Consumes white space inside a call; then a character is available, or the reply has ended. */
export function* addSpace(cursor: Cursor, draft: CallDraft): Reading<void> {
  for (;;) {
    const space = yield* readSpace(cursor, maxRestLength);
    if (space === "") return;
    draft.add(space);
  }
}
