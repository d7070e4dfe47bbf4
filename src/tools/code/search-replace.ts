import { AppError } from "@millrace/engine/errors/errors";
import { nearestText } from "./nearest-text.ts";

/** One SEARCH/REPLACE block: lines without their ends. `number` counts from 1, as errors name it. */
export interface Block {
  number: number;
  search: string[];
  replace: string[];
}

/** What a block has changed, for the answer. Lines count from 1, as before the edit; `also` match too and stay as they are. */
export interface AppliedBlock {
  block: number;
  line: number;
  removed: number;
  added: number;
  also: number[];
}

/** A text as its lines and the ends of these; what is joined again is the same to the byte. */
interface Lines {
  mark: string;
  texts: string[];
  ends: string[];
}

/** Places of further matches that an answer names. */
const mostFurther = 5;

/**
 * The text with every block applied, in the order of the file: whole lines, exact to the blank, the first place after
 * the block before. The line ends of the file are kept. Throws `invalid_parameter` that names the block, with nothing
 * changed.
 */
export function applyBlocks(text: string, blocks: readonly Block[]): { text: string; applied: AppliedBlock[] } {
  const file = linesOf(text);
  const found: { at: number; block: Block; also: number[] }[] = [];
  let from = 0;
  for (const block of blocks) {
    const [at, ...others] = placesOf(file.texts, block.search, from, 1 + mostFurther);
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

/** Tells whether lines stand in a text. */
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

/** New lines end as the first line that they replace does, and the last line of a file stays without an end. */
function replaceLines(file: Lines, at: number, { search, replace }: Block): void {
  const replaced = file.ends.slice(at, at + search.length);
  const usual = replaced.find((end) => end !== "") ?? file.ends.find((end) => end !== "") ?? "\n";
  const ends = replace.map(() => usual);
  const isLast = at + search.length === file.texts.length && replaced.at(-1) === "";
  if (isLast && ends.length > 0) ends[ends.length - 1] = "";
  file.texts.splice(at, search.length, ...replace);
  file.ends.splice(at, search.length, ...ends);
  // Deleting the end of such a file leaves the line before it as the last one.
  if (isLast && ends.length === 0 && file.ends.length > 0) file.ends[file.ends.length - 1] = "";
}

/**
 * Where the lines stand, the first places after `from`; no lines stand where an empty one does. Each line is looked at
 * a few times only, however often they repeat (Knuth, Morris, Pratt).
 */
function placesOf(texts: readonly string[], lines: readonly string[], from: number, most: number): number[] {
  const search = lines.length === 0 ? [""] : lines;
  const back = repeatsIn(search);
  const places: number[] = [];
  let matched = 0;
  for (let at = from; at < texts.length && places.length < most; at += 1) {
    while (matched > 0 && search[matched] !== texts[at]) matched = back[matched - 1] ?? 0;
    if (search[matched] === texts[at]) matched += 1;
    if (matched < search.length) continue;
    places.push(at + 1 - search.length);
    matched = back[matched - 1] ?? 0;
  }
  return places;
}

/** For each line, how many lines up to it are the same as the first ones. */
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
      { suggestion: "Give the blocks in the order of the file." },
    );
  }
  const inside = partOfLine(texts, block.search);
  if (inside !== undefined) {
    return new AppError(
      "invalid_parameter",
      `${name}: its SEARCH text is only a part of line ${inside + 1}: ${shown(texts[inside] ?? "")}. Nothing was changed.`,
      { suggestion: "Give whole lines, from their first to their last character, in SEARCH and in REPLACE." },
    );
  }
  const near = nearestText(texts, block.search);
  const wanted = `Expected exactly: ${shown(block.search[0] ?? "")}${block.search.length > 1 ? ` and ${block.search.length - 1} more lines` : ""}.`;
  return new AppError(
    "invalid_parameter",
    `${name}: its SEARCH text is not in the file, and nothing was changed. ${wanted}${near === undefined ? "" : `\n${near}`}`,
    { suggestion: "Read the file and copy the lines as they are, with their blanks." },
  );
}

/** The line that holds the search text, where it is one piece of a line. */
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
