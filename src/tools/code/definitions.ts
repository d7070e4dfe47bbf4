import type { Language } from "./definition-patterns.ts";

/** A definition of a source file: its line from 1, how deep the line is indented, and what it is. */
export interface Definition {
  line: number;
  indent: number;
  kind: string;
  name: string;
}

/** Characters of a line that are looked at: more is not written by a person. */
const longestLine = 300;

/**
 * The definitions of a source text, by the beginnings of its lines. It is no parser: what stands in long strings and
 * comments is left out, and a definition written in an unusual way may be missed. `breathe` lets other work run between lines.
 */
export async function definitionsOf(
  text: string,
  language: Language,
  breathe: () => Promise<void> | undefined,
): Promise<Definition[]> {
  const found: Definition[] = [];
  let open: string | null = null;
  for (const [index, whole] of text.split("\n").entries()) {
    const pause = breathe();
    if (pause !== undefined) await pause;
    const line = whole.slice(0, longestLine).trimEnd();
    if (open !== null) {
      const end = line.indexOf(open);
      if (end === -1) continue;
      open = stillOpen(line.slice(end + open.length), language);
      continue;
    }
    if (line === "" || language.lineComment?.test(line) === true) continue;
    const definition = definitionIn(line, language);
    if (definition !== undefined) found.push({ line: index + 1, indent: indentOf(line), ...definition });
    open = stillOpen(line, language);
  }
  return found;
}

function definitionIn(line: string, language: Language): { kind: string; name: string } | undefined {
  for (const { kind, pattern } of language.definitions) {
    const name = pattern.exec(line)?.groups?.["name"]?.trim();
    if (name !== undefined && name !== "") return { kind, name };
  }
  return undefined;
}

/** What ends the span that a line leaves open; `null` when it leaves none. */
function stillOpen(line: string, { spans, lineComment }: Language): string | null {
  let rest = line;
  for (;;) {
    const next = spans
      .map((span) => ({ span, at: rest.indexOf(span.begin) }))
      .filter(({ at }) => at !== -1)
      .toSorted((one, other) => one.at - other.at)[0];
    if (next === undefined || isInComment(rest.slice(0, next.at), lineComment)) return null;
    const inside = rest.slice(next.at + next.span.begin.length);
    const end = inside.indexOf(next.span.end);
    if (end === -1) return next.span.end;
    rest = inside.slice(end + next.span.end.length);
  }
}

/** Whether a line comment begins before a span does, as in `// see /*`; a quote before it means that it may be a string. */
function isInComment(before: string, lineComment: RegExp | null): boolean {
  if (lineComment === null) return false;
  return lineComment.test(before) || /\s\/\/|["'`][^"'`]*$/u.test(before);
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}
