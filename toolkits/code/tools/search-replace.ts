import { AppError } from "@millrace/engine/errors/errors";
import { nearestText } from "../../../src/tools/files/nearest-text.ts";

/** One SEARCH/REPLACE block: lines without line ends. `number` counts from 1, for errors. */
export interface Block {
  number: number;
  search: string[];
  replace: string[];
}

/** A block's change, for the answer. Lines count from 1, before the edit; `also` match too and stay unchanged. */
export interface AppliedBlock {
  block: number;
  line: number;
  removed: number;
  added: number;
  also: number[];
}

/** A text split into lines and line ends; joining restores it exactly. */
interface Lines {
  mark: string;
  texts: string[];
  ends: string[];
}

/** Further matches listed in an answer. */
const maxFurther = 5;

/**
 * Applies all blocks in file order: whole lines, matched exactly, at the first match after the previous block. Line
 * ends are kept. Throws `invalid_parameter` naming the block, changing nothing.
 */
export function applyBlocks(text: string, blocks: readonly Block[]): { text: string; applied: AppliedBlock[] } {
  const file = linesOf(text);
  const found: { at: number; block: Block; also: number[] }[] = [];
  let from = 0;
  for (const block of blocks) {
    const [at, ...others] = placesOf(file.texts, block.search, from, 1 + maxFurther);
    if (at === undefined) throw notThere(file.texts, block, from);
    found.push({ at, block, also: others.map((one) => one + 1) });
    from = at + block.search.length;
  }
  for (const { at, block } of found.toReversed()) replaceLines(file, at, block);
  const applied = found.map(({ at, block: { number, search, replace }, also }) => {
    return { block: number, line: at + 1, removed: search.length, added: replace.length, also };
  });
  return { text: joined(file), applied };
}

/** Whether a text contains these lines. */
export function linesHeldBy(text: string): (lines: readonly string[]) => boolean {
  const { texts } = linesOf(text);
  return (lines) => placesOf(texts, lines, 0, 1).length > 0;
}

function linesOf(text: string): Lines {
  const mark = text.startsWith("\uFEFF") ? "\uFEFF" : "";
  const pieces = text.slice(mark.length).split("\n");
  const last = pieces.pop() ?? "";
  const texts = pieces.map((piece) => (piece.endsWith("\r") ? piece.slice(0, -1) : piece));
  const ends: string[] = pieces.map((piece) => (piece.endsWith("\r") ? "\r\n" : "\n"));
  if (last !== "") {
    texts.push(last);
    ends.push("");
  }
  return { mark, texts, ends };
}

function joined({ mark, texts, ends }: Lines): string {
  return mark + texts.map((text, index) => text + (ends[index] ?? "")).join("");
}

/** New lines get the line end of the first one they replace; a last line without one stays so. */
function replaceLines(file: Lines, at: number, { search, replace }: Block): void {
  const replaced = file.ends.slice(at, at + search.length);
  const usual = replaced.find((end) => end !== "") ?? file.ends.find((end) => end !== "") ?? "\n";
  const ends = replace.map(() => usual);
  const isLast = at + search.length === file.texts.length && replaced.at(-1) === "";
  if (isLast && ends.length > 0) ends[ends.length - 1] = "";
  file.texts.splice(at, search.length, ...replace);
  file.ends.splice(at, search.length, ...ends);
  // Deleting such a file's last line makes the previous one the last.
  if (isLast && ends.length === 0 && file.ends.length > 0) file.ends[file.ends.length - 1] = "";
}

/**
 * The first positions of the lines after `from`; an empty list matches nowhere. Linear time, however often lines repeat
 * (Knuth, Morris, Pratt).
 */
function placesOf(texts: readonly string[], lines: readonly string[], from: number, limit: number): number[] {
  const search = lines.length === 0 ? [""] : lines;
  const back = repeatsIn(search);
  const places: number[] = [];
  let matched = 0;
  for (let at = from; at < texts.length && places.length < limit; at += 1) {
    while (matched > 0 && search[matched] !== texts[at]) matched = back[matched - 1] ?? 0;
    if (search[matched] === texts[at]) matched += 1;
    if (matched < search.length) continue;
    places.push(at + 1 - search.length);
    matched = back[matched - 1] ?? 0;
  }
  return places;
}

/** For each line, the length of the longest prefix that ends there. */
function repeatsIn(search: readonly string[]): number[] {
  const back = [0];
  let same = 0;
  for (let at = 1; at < search.length; at += 1) {
    while (same > 0 && search[same] !== search[at]) same = back[same - 1] ?? 0;
    if (search[same] === search[at]) same += 1;
    back.push(same);
  }
  return back;
}

function notThere(texts: readonly string[], block: Block, from: number): AppError {
  const name = `Block ${block.number}`;
  const before = placesOf(texts, block.search, 0, 1)[0];
  if (before !== undefined && before < from) {
    return new AppError(
      "invalid_parameter",
      `${name}: its SEARCH text stands at line ${before + 1}, before the end of the block above it. Nothing was changed.`,
      {
        suggestion: "Give the blocks in the order of the file.",
        message_zh: `第 ${block.number} 块：SEARCH 的内容在第 ${before + 1} 行，早于上一块的结尾。未作任何更改。`,
      },
    );
  }
  const inside = partOfLine(texts, block.search);
  if (inside !== undefined) {
    return new AppError(
      "invalid_parameter",
      `${name}: its SEARCH text is only a part of line ${inside + 1}: ${shown(texts[inside] ?? "")}. Nothing was changed.`,
      {
        suggestion: "Give whole lines, from their first to their last character, in SEARCH and in REPLACE.",
        message_zh: `第 ${block.number} 块：SEARCH 的内容只是第 ${inside + 1} 行的一部分。未作任何更改。`,
      },
    );
  }
  const near = nearestText(texts, block.search);
  const wanted = `Expected exactly: ${shown(block.search[0] ?? "")}${block.search.length > 1 ? ` and ${block.search.length - 1} more lines` : ""}.`;
  return new AppError(
    "invalid_parameter",
    `${name}: its SEARCH text is not in the file, and nothing was changed. ${wanted}${near === undefined ? "" : `\n${near}`}`,
    {
      suggestion: "Read the file and copy the lines as they are, with their blanks.",
      message_zh: `第 ${block.number} 块：文件中没有 SEARCH 的内容，未作任何更改。`,
    },
  );
}

/** The line that contains the search text, if it is part of a single line. */
function partOfLine(texts: readonly string[], search: readonly string[]): number | undefined {
  const [first = "", ...others] = search;
  const last = others.at(-1);
  if (first.trim() === "") return undefined;
  const middle = others.slice(0, -1);
  const middles = middle.length === 0 ? undefined : new Set(placesOf(texts, middle, 1, Infinity));
  const at = texts.findIndex((line, index) => {
    if (last === undefined) return line !== first && line.includes(first) && line.trim() !== first.trim();
    const isMiddle = middles?.has(index + 1) ?? true;
    const end = texts[index + others.length] ?? "";
    return (
      isMiddle &&
      line.endsWith(first) &&
      end.startsWith(last) &&
      line.trim() + end.trim() !== first.trim() + last.trim()
    );
  });
  return at === -1 ? undefined : at;
}

function shown(line: string): string {
  return JSON.stringify(line.length > 120 ? `${line.slice(0, 120)}…` : line);
}

const opening = /^<{5,9} ?SEARCH\s*$/u;
const divider = /^={5,9}\s*$/u;
const closing = /^>{5,9} ?REPLACE\s*$/u;
const fence = /^```[\w-]*\s*$/u;

const form =
  "The form is: a line <<<<<<< SEARCH, the lines to find, a line =======, the new lines, a line >>>>>>> REPLACE.";

/** Lines ======= tried per block; more of them mean another kind of text. */
const maxDividers = 40;

/** A raw block: the positions of its possible divider lines. */
interface Draft {
  lines: string[];
  dividers: number[];
}

/**
 * The blocks of a diff. `isThere` tells whether lines are in the file: of several lines =======, the last one preceded
 * by such lines is the divider. Throws `invalid_parameter` naming the block and the problem.
 */
export function readBlocks(diff: string, isThere: (lines: readonly string[]) => boolean): Block[] {
  const lines = withoutFence(diff.replaceAll("\r\n", "\n").split("\n"));
  const blocks: Block[] = [];
  let draft: Draft | undefined;
  for (const [index, line] of lines.entries()) {
    if (draft === undefined) {
      if (opening.test(line)) draft = { lines: [], dividers: [] };
      else if (line.trim() !== "") throw outside(line, index + 1, blocks.length);
    } else if (closing.test(line)) {
      blocks.push(toBlock(draft, blocks.length + 1, isThere));
      draft = undefined;
    } else if (opening.test(line)) {
      throw wrong(blocks.length + 1, "it has no line >>>>>>> REPLACE before the next block begins");
    } else {
      if (divider.test(line)) draft.dividers.push(draft.lines.length);
      draft.lines.push(line);
    }
  }
  if (draft !== undefined) throw wrong(blocks.length + 1, "it has no line >>>>>>> REPLACE: it ends in the middle");
  if (blocks.length === 0) throw new AppError("invalid_parameter", "The diff has no block.", { suggestion: form });
  return blocks;
}

function toBlock(draft: Draft, number: number, isThere: (lines: readonly string[]) => boolean): Block {
  if (draft.dividers.length > maxDividers) {
    throw wrong(number, `it has more than ${maxDividers} lines =======, so that nobody knows which divides it`);
  }
  const splits = draft.dividers.map((at) => ({
    number,
    search: draft.lines.slice(0, at),
    replace: draft.lines.slice(at + 1),
  }));
  const [first, ...others] = splits;
  if (first === undefined) throw wrong(number, "it has no line ======= between the two parts");
  const block = others.length === 0 ? first : (splits.findLast(({ search }) => isThere(search)) ?? first);
  if (block.search.every((line) => line.trim() === "")) {
    throw wrong(
      number,
      "its SEARCH part has no words; to insert, search for the line beside it and give it back with the new ones",
    );
  }
  return block;
}

/** Models often wrap a diff in a code fence. */
function withoutFence(lines: string[]): string[] {
  const first = lines.findIndex((line) => line.trim() !== "");
  const last = lines.findLastIndex((line) => line.trim() !== "");
  const isFenced = first < last && fence.test(lines[first] ?? "") && /^```\s*$/u.test(lines[last] ?? "");
  return isFenced ? lines.slice(first + 1, last) : lines;
}

function outside(line: string, number: number, blocks: number): AppError {
  const after = blocks === 0 ? "before the first block" : `after block ${blocks}`;
  const quoted = JSON.stringify(line.length > 80 ? `${line.slice(0, 80)}…` : line);
  return new AppError(
    "invalid_parameter",
    `Line ${number} of the diff stands ${after} and is no part of one: ${quoted}.`,
    { suggestion: form },
  );
}

function wrong(block: number, problem: string): AppError {
  return new AppError("invalid_parameter", `Block ${block}: ${problem}. Nothing was changed.`, { suggestion: form });
}
