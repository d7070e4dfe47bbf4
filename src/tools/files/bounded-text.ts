/**
 * Characters a tool of this toolkit puts into one answer. A little below the loop's limit for tool results (5,000
 * characters), so that the end, which says how to go on, is never cut off.
 */
export const answerLimit = 4800;

/** As many lines as fit into the limit, and how many they are. A line is never cut. */
export function fittingLines(lines: string[], limit = answerLimit): { text: string; shown: number } {
  let length = 0;
  let shown = 0;
  for (const line of lines) {
    length += line.length + 1;
    if (length > limit) break;
    shown += 1;
  }
  return { text: lines.slice(0, shown).join("\n"), shown };
}
