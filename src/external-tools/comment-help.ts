/** Lines at the beginning of a file in which its help is looked for. */
const headLines = 50;
/** Characters of a help text that are kept. */
export const longestHelp = 4000;

const slashes = new Set([".js", ".go", ".rs"]);
const keywords = ["usage", "help", "description", "用法", "说明", "描述", "帮助"];
const opening = new RegExp(`(?:${keywords.join("|")})\\s*[:：]`, "iu");

/**
 * The help in the comments at the head of a program: from the first one with a word such as `Usage:` on, up to two
 * empty comments or the end of the comments. Empty when there is none.
 */
export function commentHelp(text: string, extension: string): string {
  const marks = extension === ".php" ? ["#", "//"] : slashes.has(extension) ? ["//"] : ["#"];
  const found: string[] = [];
  let empty = 0;
  for (const line of text.split("\n", headLines).map((whole) => whole.trim())) {
    const mark = line.startsWith("#!") ? undefined : marks.find((start) => line.startsWith(start));
    const comment = mark === undefined ? undefined : line.slice(mark.length).trim();
    if (comment === undefined) {
      if (found.length > 0 && !line.startsWith("#!")) break;
    } else if (found.length > 0 || opening.test(comment)) {
      empty = comment === "" ? empty + 1 : 0;
      if (empty === 2) break;
      found.push(comment);
    }
  }
  return found.join("\n").trim().slice(0, longestHelp).toWellFormed();
}
