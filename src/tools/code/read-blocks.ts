import { AppError } from "@millrace/engine/errors/errors";
import type { Block } from "./search-replace.ts";

const opening = /^<{5,9} ?SEARCH\s*$/u;
const divider = /^={5,9}\s*$/u;
const closing = /^>{5,9} ?REPLACE\s*$/u;
const fence = /^```[\w-]*\s*$/u;

const form =
  "The form is: a line <<<<<<< SEARCH, the lines to find, a line =======, the new lines, a line >>>>>>> REPLACE.";

/** Lines ======= of one block that are tried: more of them, and it is another kind of text. */
const mostDividers = 40;

/** A block as it was written: where each line of it that may divide it stands. */
interface Draft {
  lines: string[];
  dividers: number[];
}

/**
 * The blocks of a diff. `isThere` says whether lines stand in the file: of several lines ======= the last one before
 * which they do divides the block. Throws `invalid_parameter` that names the block and what is wrong with it.
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
  if (draft.dividers.length > mostDividers) {
    throw wrong(number, `it has more than ${mostDividers} lines =======, so that nobody knows which divides it`);
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

/** Models like to put a diff into a fence. */
function withoutFence(lines: string[]): string[] {
  const first = lines.findIndex((line) => line.trim() !== "");
  const last = lines.findLastIndex((line) => line.trim() !== "");
  const isFenced = first < last && fence.test(lines[first] ?? "") && /^```\s*$/u.test(lines[last] ?? "");
  return isFenced ? lines.slice(first + 1, last) : lines;
}

function outside(line: string, number: number, blocks: number): AppError {
  const after = blocks === 0 ? "before the first block" : `after block ${blocks}`;
  const said = JSON.stringify(line.length > 80 ? `${line.slice(0, 80)}…` : line);
  return new AppError(
    "invalid_parameter",
    `Line ${number} of the diff stands ${after} and is no part of one: ${said}.`,
    {
      suggestion: form,
    },
  );
}

function wrong(block: number, problem: string): AppError {
  return new AppError("invalid_parameter", `Block ${block}: ${problem}. Nothing was changed.`, { suggestion: form });
}
