import type { CallDraft } from "../call-draft.ts";
import type { Cursor, Reading } from "../cursor.ts";

/** Possible starts of a closing tag; at the end of a chunk it is not known yet. */
const closingBegins = { "<": /<(?=\/|$)/g, "[": /\[(?=\/|$)/g };

/**
 * Passes characters to `take` up to the first `closing` (which begins with `</` or `[/`, and has its first character
 * only there), and consumes it. False if the reply ended first.
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

/** A parameter's value: everything up to the first closing tag. `undefined` if the reply ended first. */
export function* readValue(cursor: Cursor, closing: string, draft: CallDraft): Reading<string | undefined> {
  let value = "";
  const isWhole = yield* readUntil(cursor, closing, (text) => {
    draft.add(text);
    value = draft.isOpen ? value + text : "";
  });
  if (isWhole) draft.add(closing);
  return isWhole ? plainValue(value, closing) : undefined;
}

/** Escapes text for a regular expression; Node has a built-in only from 24 on. */
function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
}

/** The intended value: without the line breaks next to the tags, and with its own closing tag unescaped. */
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
 * The inverse: escapes a value for `closing`. Only its own closing tag changes, which is why XML suits long texts
 * better.
 */
export function writtenValue(value: string, closing: string): string {
  const name = escaped(closing.slice(1));
  const safe = value
    .replaceAll(new RegExp(`&(?=(?:amp;)*lt;${name})`, "g"), "&amp;")
    .replaceAll(closing, `&lt;${closing.slice(1)}`);
  return /[\r\n]/.test(safe) ? `\n${safe}\n` : safe;
}
