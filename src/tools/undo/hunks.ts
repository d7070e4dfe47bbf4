import { diffLines, linesOf, nearChanges, type DiffLine } from "./line-diff.ts";

/** A line of a diff, and which hunk it stands in: 1 for the first. */
export interface HunkLine extends DiffLine {
  hunk: number;
}

/** Equal lines around each change. */
const contextLines = 3;

/** The changed lines of a diff with the equal ones around them. A hunk is what stands together: between two, lines are left out. */
export function hunksOf(lines: readonly DiffLine[]): HunkLine[] {
  const places = new Map(lines.map((line, at) => [line, at]));
  let hunk = 0;
  let last: number | undefined;
  return nearChanges(lines, contextLines).map((line) => {
    const at = places.get(line);
    if (last === undefined || at !== last + 1) hunk += 1;
    last = at;
    return { ...line, hunk };
  });
}

/** A text without some hunks, or the first of them that cannot be taken back. */
export type WithoutHunks =
  | { kind: "text"; text: string }
  | { kind: "unknown"; hunk: number }
  | { kind: "changed"; hunk: number };

/**
 * Takes hunks of the change from `before` to `after` back in `now`, which may have changed elsewhere since: `changed` if
 * it has there, `unknown` for a hunk that the change has not.
 */
export function withoutHunks(
  { before, after, now }: { before: string; after: string; now: string },
  wanted: readonly number[],
): WithoutHunks {
  const hunks = Map.groupBy(hunksOf(diffLines(before, after)), ({ hunk }) => hunk);
  const places = placesIn(after, now);
  const [old, kept] = [linesOf(before), linesOf(now)];
  // From the end, so that the places of those before stay.
  for (const hunk of [...new Set(wanted)].toSorted((one, other) => other - one)) {
    const lines = hunks.get(hunk);
    if (lines === undefined) return { kind: "unknown", hunk };
    const at = lines.flatMap(({ new_line }) => (new_line === null ? [] : [places.get(new_line) ?? -1]));
    const put = lines.flatMap(({ old_line }) => (old_line === null ? [] : (old[old_line - 1] ?? "")));
    const start = at[0] ?? 0;
    const isThere = at.length > 0 ? at.every((place, index) => place >= 0 && place === start + index) : now === after;
    const isAtEnd = start + at.length === kept.length;
    // A last line without an end would run into what was added behind it.
    if (!isThere || (!isAtEnd && put.at(-1)?.endsWith("\n") === false)) return { kind: "changed", hunk };
    kept.splice(start, at.length, ...put);
  }
  return { kind: "text", text: kept.join("") };
}

/** Where the lines of a text, by number, are in another one: from 0 on. */
function placesIn(text: string, other: string): Map<number, number> {
  return new Map(
    diffLines(text, other).flatMap(({ kind, old_line, new_line }) =>
      kind === "same" && old_line !== null && new_line !== null ? [[old_line, new_line - 1] as const] : [],
    ),
  );
}
