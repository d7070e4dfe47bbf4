/** Lines of a file that are compared; later ones are ignored. */
const maxLines = 20_000;
/** Lines of the search text that are compared, and lines shown of the match. */
const [maxCompared, maxShown] = [60, 12];
/** Length of a long line, distance of the parts compared in it, and characters compared per file. */
const [longLine, stepLength, maxSearched] = [400, 40, 1_000_000];
/** Minimum share of common letter pairs of similar lines. */
const similarEnough = 0.6;

/**
 * The text most similar to the searched lines, with line numbers and the first difference; `undefined` if nothing is
 * similar. Helps the model to correct its search.
 */
export function nearestText(texts: readonly string[], search: readonly string[]): string | undefined {
  const at = placeLike(texts.slice(0, maxLines), search.slice(0, maxCompared));
  // The start of a long line would not help.
  if (at === undefined || (texts[at] ?? "").length > longLine) return nearestPart(texts, at, search);
  const rows = texts
    .slice(at, at + Math.min(search.length, maxShown))
    .map((line, index) => `${at + 1 + index}: ${line.slice(0, 200)}`);
  return ["The nearest text in the file is:", ...rows, difference(texts, search, at)]
    .filter((row) => row !== "")
    .join("\n");
}

/** The part of a long line, at `line` or anywhere, most similar to the first line that has words. */
function nearestPart(
  texts: readonly string[],
  line: number | undefined,
  search: readonly string[],
): string | undefined {
  const words = search.find((one) => /[\p{L}\p{N}]/u.test(one))?.slice(0, longLine) ?? "";
  const wanted = pairsOf(words);
  if (wanted.size === 0) return undefined;
  const length = words.length + stepLength;
  let room = maxSearched;
  let best: { number: number; start: number; score: number } | undefined;
  for (const [index, text] of texts.entries()) {
    if (text.length <= longLine || (line !== undefined && line !== index)) continue;
    for (let start = 0; start < text.length && room > 0; start += stepLength) {
      room -= stepLength;
      const pairs = pairsOf(text.slice(start, start + length), length);
      let common = 0;
      for (const pair of wanted) if (pairs.has(pair)) common += 1;
      const score = common / wanted.size;
      if (score >= similarEnough && (best === undefined || score > best.score)) {
        best = { number: index + 1, start, score };
      }
    }
  }
  if (best === undefined) return undefined;
  const { number, start } = best;
  const shown = (texts[number - 1] ?? "").slice(Math.max(0, start - stepLength), start + length + stepLength);
  return `The nearest text in the file is a part of line ${number}:\n${shown.toWellFormed()}`;
}

/** The place where most lines match except for whitespace; else the line most similar to the first one with words. */
function placeLike(texts: readonly string[], search: readonly string[]): number | undefined {
  const [plainTexts, plainSearch] = [texts.map(plain), search.map(plain)];
  const wordless = (line: string): boolean => !/[\p{L}\p{N}]/u.test(line);
  const scores = new Map<number, number>();
  const positions = new Map<string, number[]>();
  for (const [index, line] of plainTexts.entries()) {
    const known = positions.get(line);
    if (known === undefined) positions.set(line, [index]);
    else if (known.length < 200) known.push(index);
  }
  for (const [offset, line] of plainSearch.entries()) {
    if (wordless(line)) continue;
    for (const index of positions.get(line) ?? []) {
      if (index >= offset) scores.set(index - offset, (scores.get(index - offset) ?? 0) + 1);
    }
  }
  const best = [...scores].reduce<[number, number] | undefined>(
    (top, one) => (top === undefined || one[1] > top[1] ? one : top),
    undefined,
  );
  return best?.[0] ?? lineLike(plainTexts, plainSearch);
}

function lineLike(texts: readonly string[], search: readonly string[]): number | undefined {
  const offset = search.findIndex((line) => /[\p{L}\p{N}]/u.test(line));
  const wanted = pairsOf(search[offset] ?? "");
  if (offset === -1 || wanted.size === 0) return undefined;
  let best: { at: number; score: number } | undefined;
  for (const [index, line] of texts.entries()) {
    const pairs = pairsOf(line);
    let common = 0;
    for (const pair of pairs) if (wanted.has(pair)) common += 1;
    const score = (2 * common) / (pairs.size + wanted.size);
    if (score >= similarEnough && (best === undefined || score > best.score)) best = { at: index, score };
  }
  return best === undefined ? undefined : Math.max(0, best.at - offset);
}

function pairsOf(line: string, length = 200): Set<string> {
  const letters = line.slice(0, length).toLowerCase();
  return new Set(
    Array.from({ length: Math.max(0, letters.length - 1) }, (_, index) => letters.slice(index, index + 2)),
  );
}

/** Describes the first difference. */
function difference(texts: readonly string[], search: readonly string[], at: number): string {
  const offset = search.findIndex((line, index) => texts[at + index] !== line);
  const [found, wanted] = [texts[at + offset], search[offset]];
  if (offset === -1 || wanted === undefined) return "";
  if (found === undefined) return `The file ends there: your SEARCH has ${search.length - offset} more lines.`;
  if (plain(found) !== plain(wanted))
    return `Line ${at + 1 + offset} differs: yours is ${JSON.stringify(wanted.slice(0, 200))}.`;
  return `Line ${at + 1 + offset} differs only in blanks: the file has ${blanks(found)}, yours has ${blanks(wanted)}.`;
}

function plain(line: string): string {
  return line.trim().replaceAll(/\s+/gu, " ");
}

function blanks(line: string): string {
  const start = /^\s*/u.exec(line)?.[0] ?? "";
  const tabs = start.split("\t").length - 1;
  const ending = line !== line.trimEnd() ? " and blanks at the end" : "";
  return `${tabs} tabs and ${start.length - tabs} blanks at the start${ending}`;
}
