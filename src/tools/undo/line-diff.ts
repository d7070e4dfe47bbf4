/**
 * One line of a diff. Line numbers count from 1; `null` for removed lines in the new text and added lines in the old.
 */
export interface DiffLine {
  kind: "same" | "removed" | "added";
  text: string;
  old_line: number | null;
  new_line: number | null;
}

/** Maximum number of differences; texts further apart become one replaced block. Bounds time and memory. */
const maxDifferences = 400;
/** Index of diagonal 0 in a row of diagonals. */
const middle = maxDifferences + 1;

/**
 * Compares two texts line by line (Myers, "An O(ND) Difference Algorithm", 1986). A missing newline at the end counts
 * as a difference of the last line.
 */
export function diffLines(before: string, after: string): DiffLine[] {
  const [old, now] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  const kinds = [
    ...Array<DiffLine["kind"]>(start).fill("same"),
    ...editsBetween(old.slice(start, old.length - end), now.slice(start, now.length - end)),
    ...Array<DiffLine["kind"]>(end).fill("same"),
  ];
  let [oldLine, newLine] = [0, 0];
  return kinds.map((kind) => {
    if (kind !== "added") oldLine += 1;
    if (kind !== "removed") newLine += 1;
    const text = (kind === "removed" ? old[oldLine - 1] : now[newLine - 1]) ?? "";
    return {
      kind,
      text: text.replace(/\r?\n$/u, ""),
      old_line: kind === "added" ? null : oldLine,
      new_line: kind === "removed" ? null : newLine,
    };
  });
}

/** The changed lines with up to `context` equal lines around each. */
export function nearChanges(lines: readonly DiffLine[], context: number): DiffLine[] {
  const shown = new Set<number>();
  for (const [index, line] of lines.entries()) {
    if (line.kind === "same") continue;
    for (let near = Math.max(0, index - context); near <= index + context; near += 1) shown.add(near);
  }
  return lines.filter((_, index) => shown.has(index));
}

/** The lines of a text, each with its end. */
export function linesOf(text: string): string[] {
  return text === "" ? [] : text.split(/(?<=\n)/u);
}

function editsBetween(old: string[], now: string[]): DiffLine["kind"][] {
  const trace = old.length === 0 || now.length === 0 ? undefined : shortestWay(old, now);
  if (trace === undefined) return [...old.map(() => "removed" as const), ...now.map(() => "added" as const)];
  const edits: DiffLine["kind"][] = [];
  let [x, y] = [old.length, now.length];
  for (let depth = trace.length - 1; depth > 0; depth -= 1) {
    const reach = trace[depth] ?? new Int32Array();
    const diagonal = x - y;
    const previous = cameDown(reach, diagonal, depth) ? diagonal + 1 : diagonal - 1;
    const previousX = at(reach, previous);
    const previousY = previousX - previous;
    while (x > previousX && y > previousY) {
      edits.push("same");
      [x, y] = [x - 1, y - 1];
    }
    edits.push(x === previousX ? "added" : "removed");
    [x, y] = [previousX, previousY];
  }
  for (; x > 0; x -= 1) edits.push("same");
  return edits.toReversed();
}

/**
 * The reach of each diagonal per number of differences; `undefined` if there are too many. Diagonal 0 is in the middle
 * of a row.
 */
function shortestWay(old: string[], now: string[]): Int32Array[] | undefined {
  const reach = new Int32Array(2 * middle + 1);
  const trace: Int32Array[] = [];
  for (let depth = 0; depth <= maxDifferences; depth += 1) {
    trace.push(reach.slice());
    for (let diagonal = -depth; diagonal <= depth; diagonal += 2) {
      let x = cameDown(reach, diagonal, depth) ? at(reach, diagonal + 1) : at(reach, diagonal - 1) + 1;
      while (x < old.length && x - diagonal < now.length && old[x] === now[x - diagonal]) x += 1;
      reach[middle + diagonal] = x;
      if (x >= old.length && x - diagonal >= now.length) return trace;
    }
  }
  return undefined;
}

function cameDown(reach: Int32Array, diagonal: number, depth: number): boolean {
  if (diagonal === -depth) return true;
  return diagonal !== depth && at(reach, diagonal - 1) < at(reach, diagonal + 1);
}

function at(reach: Int32Array, diagonal: number): number {
  return reach[middle + diagonal] ?? 0;
}
