import type { CallDraft } from "../call-draft.ts";
import type { Cursor, Reading } from "../cursor.ts";

/** Where a closing tag may begin, by its first character; at the end of a piece that is not known yet. */
const closingBegins = { "<": /<(?=\/|$)/g, "[": /\[(?=\/|$)/g };

/**
 * Passes characters on up to the first `closing` (which begins with `</` or `[/`, and has its first character only
 * there), and reads that too. False when the reply ended before it.
 */
export function* readUntil(cursor: Cursor, closing: string, take: (text: string) => void): Reading<boolean> {
  const first = closing.startsWith("[") ? "[" : "<";
  for (;;) {
    while (cursor.mustWait) yield;
    if (cursor.isAtEnd) return false;
    const { char } = cursor;
    if (char !== first) {
      take(cursor.takeUntil(closingBegins[first]));
      continue;
    }
    let held = "";
    while (held.length < closing.length) {
      while (cursor.mustWait) yield;
      if (cursor.char !== closing[held.length]) break;
      held += cursor.char;
      cursor.skip();
    }
    if (held === closing) return true;
    take(held);
  }
}

/** The value of a parameter: all up to the first closing tag. `undefined` when the reply ended before it. */
export function* readValue(cursor: Cursor, closing: string, draft: CallDraft): Reading<string | undefined> {
  let value = "";
  const isWhole = yield* readUntil(cursor, closing, (text) => {
    draft.add(text);
    value = draft.isOpen ? value + text : "";
  });
  if (isWhole) draft.add(closing);
  return isWhole ? plainValue(value, closing) : undefined;
}

/** A text as an expression that means it; Node has a way of its own only from 24 on. */
function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
}

/** The value as it was meant: the line breaks beside the tags are not part of it, and its own closing tag is escaped in it. */
function plainValue(written: string, closing: string): string {
  const value = /^(\r?\n)([^]*)\1$/.exec(written)?.[2] ?? written;
  const rest = `lt;${closing.slice(1)}`;
  if (!value.includes(rest)) return value;
  const marked = new RegExp(`&((?:amp;)*)${escaped(rest)}`, "g");
  return value.replaceAll(marked, (_, more: string) =>
    more === "" ? closing : `&${more.slice("amp;".length)}${rest}`,
  );
}

/**
 * A value as it stands before `closing`; read again it is the same. All but its own closing tag stays as it is, since
 * that is what makes XML the better form for long texts.
 */
export function writtenValue(value: string, closing: string): string {
  const name = escaped(closing.slice(1));
  const safe = value
    .replaceAll(new RegExp(`&(?=(?:amp;)*lt;${name})`, "g"), "&amp;")
    .replaceAll(closing, `&lt;${closing.slice(1)}`);
  return /[\r\n]/.test(safe) ? `\n${safe}\n` : safe;
}
