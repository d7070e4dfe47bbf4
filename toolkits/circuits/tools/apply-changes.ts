import { AppError } from "@millrace/engine/errors/errors";

/** A text to find, and its replacement. */
export interface Change {
  find: string;
  replace: string;
}

/**
 * Applies the changes in sequence, keeping the file's line ends. Throws `not_found` for a missing text, naming the
 * closest line, and `conflict` for an ambiguous one.
 */
export function applyChanges(text: string, changes: readonly Change[], path: string): string {
  const isWindows = text.includes("\r\n");
  const asInFile = (part: string): string => (isWindows ? part.replaceAll(/\r?\n/gu, "\r\n") : part);
  return changes.reduce((now, { find, replace }, index) => {
    const wanted = asInFile(find);
    const at = now.indexOf(wanted);
    if (at < 0) throw notThere(now, find, `Change ${index + 1} of "${path}"`);
    const again = now.indexOf(wanted, at + 1);
    if (again >= 0) {
      const lines = [at, again].map((place) => now.slice(0, place).split("\n").length);
      throw new AppError(
        "conflict",
        `Change ${index + 1} of "${path}": the text is there more than once, at the lines ${lines.join(" and ")}.`,
        {
          suggestion: "Give more lines around it, so that it is there once. Nothing was changed.",
        },
      );
    }
    return now.slice(0, at) + asInFile(replace) + now.slice(at + wanted.length);
  }, text);
}

function notThere(text: string, find: string, which: string): AppError {
  const near = nearestLine(text, find);
  const shown = near === undefined ? "" : ` The nearest is line ${near.line}: ${near.text.slice(0, 200)}`;
  return new AppError("not_found", `${which}: the text is not there: ${JSON.stringify(find.slice(0, 120))}.${shown}`, {
    suggestion: "Read the file, and copy the text with its blanks, or use rewrite_file. Nothing was changed.",
  });
}

/** The line that shares the most words with the first searched line. */
function nearestLine(text: string, find: string): { line: number; text: string } | undefined {
  const words = wordsOf(find.split("\n").find((line) => line.trim() !== "") ?? "");
  let best: { line: number; text: string; shared: number } | undefined;
  for (const [index, line] of text.split("\n").entries()) {
    const shared = [...wordsOf(line)].filter((word) => words.has(word)).length;
    if (shared > (best?.shared ?? 0)) best = { line: index + 1, text: line.trim(), shared };
  }
  return best;
}

function wordsOf(line: string): Set<string> {
  return new Set(
    line
      .toLowerCase()
      .split(/\s+/u)
      .filter((word) => word !== ""),
  );
}
