import type { Edit } from "../../../src/tools/files/apply-edits.ts";
import { lineBreak, rowText } from "./word-lines.ts";

/**
 * Possible readings of a document edit, line by line: literal; copied from `read_file`'s Markdown; the same with line
 * ends as breaks within a paragraph; and without heading and list marks.
 */
export function editForms(edit: Edit): Edit[] {
  const { old_string: old, new_string: now } = edit;
  const form = (old_string: string, new_string: string): Edit => ({ ...edit, old_string, new_string });
  const plain = (text: string): string => text.replaceAll(/^(?:#{1,6} |- )/gmu, "");
  return [
    form(tidied(old), unmarked(now)),
    form(unmarked(old), unmarked(now)),
    form(unmarked(withBreaks(old)), unmarked(withBreaks(now))),
    form(plain(unmarked(old)), plain(unmarked(now))),
  ];
}

/** Collapses white space, and removes empty lines and blanks around line ends. */
function tidied(text: string): string {
  return text.replaceAll(/[^\S\n]+/gu, " ").replaceAll(/ ?\n[ \n]*/gu, "\n");
}

/** Markdown as a document's lines: heading and list marks in one form, no emphasis or links. */
function unmarked(text: string): string {
  const lines = text.split("\n").flatMap((line) => {
    if (/^\s*\|(?:\s*:?-+:?\s*\|)+\s*$/u.test(line) || /^\s*```/u.test(line)) return [];
    if (/^\s*\|.*\|\s*$/u.test(line)) {
      const cells = line
        .trim()
        .slice(1, -1)
        .split(/(?<!\\)\|/u);
      return [rowText(cells.map((cell) => tidied(inline(cell.replaceAll(String.raw`\|`, "|"))).trim()))];
    }
    return [
      inline(
        line
          .replace(/^(?:\s*>)+\s?/u, "")
          .replace(/^\s*(#{1,6})\s+/u, "$1 ")
          .replace(/^\s*(?:[-*+]|\d+\.)\s+/u, "- "),
      ),
    ];
  });
  return tidied(lines.join("\n"));
}

/** A line without emphasis, code and links; a break in a cell is the document's. */
function inline(line: string): string {
  return line
    .replaceAll(/<br\s*\/?>/giu, lineBreak)
    .replaceAll(/<\/?(?:sup|sub)>/giu, "")
    .replaceAll(/(?<!!)\[([^\][]*)\]\([^()\s]*\)/gu, "$1")
    .replaceAll(/\*\*(?=\S)([^*]+)\*\*|~~(?=\S)([^~]+)~~|`([^`]+)`/gu, "$1$2$3")
    .replaceAll(
      /(?<![\p{L}\p{N}_])_(?=\S)([^_]+)_(?![\p{L}\p{N}_])|(?<![\p{L}\p{N}*])\*(?=\S)([^*]+)\*(?![\p{L}\p{N}*])/gu,
      "$1$2",
    );
}

/** A single line end between two lines of text is a break within their paragraph. */
function withBreaks(text: string): string {
  return text.replaceAll(/(?<=[^\n|]) *\n(?=[^\n|#>\s-])/gu, lineBreak);
}
