/** A piece of a text: words, or what is marked, in a prompt a variable between braces. */
export interface Piece {
  text: string;
  kind: "words" | "variable" | "required" | "unknown";
}

/** What an editor knows of the language of its text. */
export interface TextLanguage {
  /** A line in pieces, of which some are marked; `at` counts from 0. */
  pieces: (line: string, at: number) => readonly Piece[];
  /** The names that complete what stands before the caret, and where that begins. */
  completions: (text: string, caret: number) => { names: readonly string[]; from: number };
  /** What stands behind a name that was completed. */
  closing: string;
  /** What the list of names that fit is called. */
  completeLabel: string;
}

/** The variables that a text may use, and those that it has to. */
export interface Variables {
  all: readonly string[];
  required: readonly string[];
}

const placeholder = /\{(?<root>[A-Za-z_]\w*)(?:\.\w+)*\}/gu;
/** A variable that is being written, up to the caret. */
const begun = /\{(?<name>\w*)$/u;

/** A line of a text in pieces. */
export function piecesOf(line: string, { all, required }: Variables): Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (const match of line.matchAll(placeholder)) {
    const root = match.groups?.["root"] ?? "";
    if (match.index > from) pieces.push({ text: line.slice(from, match.index), kind: "words" });
    const kind = required.includes(root) ? "required" : all.includes(root) ? "variable" : "unknown";
    pieces.push({ text: match[0], kind });
    from = match.index + match[0].length;
  }
  if (from < line.length) pieces.push({ text: line.slice(from), kind: "words" });
  return pieces;
}

/** The names of the variables that a text uses. */
export function usedIn(text: string): ReadonlySet<string> {
  return new Set([...text.matchAll(placeholder)].map(({ groups }) => groups?.["root"] ?? ""));
}

/** The number of the first line that uses a variable; `undefined` where none does. */
export function lineOf(text: string, variable: string): number | undefined {
  const at = text.split("\n").findIndex((line) => usedIn(line).has(variable));
  return at === -1 ? undefined : at + 1;
}

/** The variables that complete what stands before the caret, and where its name begins. */
export function completionsAt(text: string, caret: number, all: readonly string[]): { names: string[]; from: number } {
  const name = begun.exec(text.slice(0, caret))?.groups?.["name"];
  if (name === undefined) return { names: [], from: caret };
  const names = all.filter((one) => one.toLowerCase().startsWith(name.toLowerCase()));
  return { names, from: caret - name.length };
}

/** The variable that was probably meant by a name that is none: the one with the fewest letters to change, if these are few. */
export function nearest(name: string, all: readonly string[]): string | undefined {
  const distances = all.map((one) => ({ one, distance: distanceOf(name.toLowerCase(), one.toLowerCase()) }));
  const [best] = distances.toSorted((left, right) => left.distance - right.distance);
  return best !== undefined && best.distance <= Math.max(1, Math.floor(name.length / 3)) ? best.one : undefined;
}

/** The text with one variable in place of another. */
export function renamed(text: string, from: string, to: string): string {
  return text.replaceAll(placeholder, (written) =>
    usedIn(written).has(from) ? `{${to}${written.slice(from.length + 1)}` : written,
  );
}

/** How many letters differ, by the usual table of two rows. */
function distanceOf(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [at, letter] of one.split("").entries()) {
    const next = [at + 1];
    for (const [place, wanted] of other.split("").entries()) {
      const change = (row[place] ?? 0) + (letter === wanted ? 0 : 1);
      next.push(Math.min(change, (row[place + 1] ?? 0) + 1, (next[place] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
