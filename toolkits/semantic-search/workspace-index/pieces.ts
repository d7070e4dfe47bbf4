/** Consecutive lines of a text, counted from 1. */
export interface Piece {
  first_line: number;
  last_line: number;
  text: string;
}

/** Maximum lines and characters of a piece; from this many characters on it ends at the next paragraph. */
const [maxLines, maxCharacters, enough] = [40, 1500, 600];

/** The cutting rules: changing them invalidates an index. */
export const cutRules = `${maxLines}/${maxCharacters}/${enough}/1`;

/**
 * The pieces of a text, in order, each short enough for embedding models in any language. They end at empty lines if
 * possible; an overlong line continues in the next piece. Blank parts are in none.
 */
export function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  let lines: string[] = [];
  let [first, length] = [1, 0];
  const close = (next: number): void => {
    const joined = lines.join("\n");
    const blank = lines.findIndex((line) => line.trim() !== "");
    if (blank !== -1) {
      const last = lines.findLastIndex((line) => line.trim() !== "");
      pieces.push({ first_line: first + blank, last_line: first + last, text: joined.replace(/^\s*\n|\s+$/gu, "") });
    }
    [lines, first, length] = [[], next, 0];
  };
  for (const [at, line] of text.replaceAll("\r\n", "\n").split("\n").entries()) {
    const number = at + 1;
    const isFull = lines.length >= maxLines || (lines.length > 0 && length + line.length >= maxCharacters);
    if (isFull || (length >= enough && line.trim() === "")) close(number);
    if (line.length < maxCharacters) {
      lines.push(line);
      length += line.length + 1;
      continue;
    }
    for (let from = 0; from < line.length; from += maxCharacters) {
      close(number);
      lines.push(line.slice(from, from + maxCharacters).toWellFormed());
    }
    close(number + 1);
  }
  close(0);
  return pieces;
}
