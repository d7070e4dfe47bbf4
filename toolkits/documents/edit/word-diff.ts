import { diffLines } from "../../../src/tools/undo/line-diff.ts";
import type { Piece } from "./word-lines.ts";

/** A differing part of a text, in characters of the old one. */
export interface Hunk {
  from: number;
  to: number;
  put: string;
}

const letters = String.raw`[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}]`;
const words = String.raw`\s+|${letters}|(?:(?!${letters})[\p{L}\p{N}\p{M}])+|.`;

/** Word-level differences between the pieces' text and another. Runs of blanks are equal. */
export function hunksOf(pieces: readonly Piece[], text: string): Hunk[] {
  const fixed = pieces.flatMap(({ kind, text: fixedText }) => (kind === "fixed" ? [fixedText] : []));
  const whole = fixed.map((one) => one.replaceAll(/[\\^$.*+?()[\]{}|/]/gu, String.raw`\$&`));
  const now = text.trim().match(new RegExp([...whole, words].join("|"), "gsu")) ?? [];
  const { tokens: old, begin } = tokensOf(pieces);
  const hunks: Hunk[] = [];
  let from = begin;
  let [oldAt, newAt] = [0, 0];
  let hunk: Hunk | undefined;
  for (const { kind } of diffLines(asLines(old), asLines(now))) {
    const length = kind === "added" ? 0 : (old[oldAt]?.length ?? 0);
    if (kind === "same") hunk = undefined;
    else {
      if (hunk === undefined) hunks.push((hunk = { from, to: from, put: "" }));
      hunk.to += length;
      if (kind === "added") hunk.put += now[newAt] ?? "";
    }
    from += length;
    if (kind !== "added") oldAt += 1;
    if (kind !== "removed") newAt += 1;
  }
  return hunks;
}

/** The words of the pieces, without blanks around all of them, up to `begin` before them. */
function tokensOf(pieces: readonly Piece[]): { tokens: string[]; begin: number } {
  const all: string[] = [];
  let run = "";
  for (const { kind, text } of [...pieces, { kind: "element", text: "" }]) {
    if (kind === "text") {
      run += text;
      continue;
    }
    // A word may span several runs.
    all.push(...(run.match(new RegExp(words, "gsu")) ?? []), ...(text === "" ? [] : [text]));
    run = "";
  }
  const isWord = (token: string): boolean => token.trim() !== "";
  const [first, last] = [all.findIndex(isWord), all.findLastIndex(isWord)];
  return {
    tokens: first === -1 ? [] : all.slice(first, last + 1),
    begin: all.slice(0, Math.max(0, first)).join("").length,
  };
}

function asLines(tokens: readonly string[]): string {
  return tokens.map((token) => `${token.trim() === "" ? " " : token}\n`).join("");
}
