/** Characters of a text that are looked through. */
const longestText = 64 * 1024;
/** Names that are taken from one text. */
const mostNames = 200;
/** Characters that a path can have. */
const longestPath = 1000;

/** What could be a path: in plain letters, also amidst a script that is written without spaces, and in those of all scripts. */
const runs = [/[\w./@+-]+/gu, /[\p{L}\p{N}_./@+-]+/gu];
const ending = /\.[A-Za-z][A-Za-z0-9]{0,9}(?![A-Za-z0-9])/gu;

/** The files that a text names, as far as their endings tell: what a request is about. In linear time. */
export function filesNamed(text: string): string[] {
  const names = new Set<string>();
  for (const [run] of runs.flatMap((form) => [...text.slice(0, longestText).matchAll(form)])) {
    const last = run.length > longestPath ? undefined : [...run.matchAll(ending)].at(-1);
    if (last === undefined) continue;
    const name = run.slice(0, last.index + last[0].length).replace(/^\.\//u, "");
    if (!/(?:^|\/)\.[^./]*$/u.test(name)) names.add(name);
    if (names.size === mostNames) break;
  }
  return [...names];
}
