import type { Rule } from "./rule-folders.ts";

/** The rules that count for a request, and those that do not. */
export interface SelectedRules {
  applied: readonly Rule[];
  others: readonly Rule[];
}

/** Characters of all rules in a prompt; rules beyond that are only listed. */
const mostCharacters = 128 * 1024;
/** Rules that are listed without their text. */
const mostListed = 50;

/**
 * Rules that always apply and indexes count always, others when a pattern of theirs fits one of the files at hand.
 * `files` are relative to the workspace.
 */
export function selectRules(rules: readonly Rule[], files: readonly string[]): SelectedRules {
  const applied: Rule[] = [];
  const others: Rule[] = [];
  let characters = 0;
  for (const rule of rules) {
    const counts = rule.alwaysApply || rule.isIndex || files.some((file) => rule.isFor(file));
    characters += counts ? rule.text.length : 0;
    (counts && characters <= mostCharacters ? applied : others).push(rule);
  }
  return { applied, others };
}

/**
 * The rules as the model reads them, and a list of the others of the project, which it can read itself; those of the
 * user's home are out of its reach. Empty if there are none.
 */
export function rulesText({ applied, others }: SelectedRules): string {
  const parts = applied.map(({ scope, path, text }) => `## Rule of the ${scope}: ${path}\n\n${text}`);
  if (new Set(applied.map(({ scope }) => scope)).size > 1) {
    parts.unshift("Where a rule of the project and one of the user disagree, the rule of the project counts.");
  }
  const listed = others.filter(({ scope }) => scope === "project").slice(0, mostListed);
  if (listed.length > 0) {
    const lines = listed.map(({ path, description, globs }) => {
      const about = [description, globs.length === 0 ? "" : `for ${globs.join(", ")}`].filter((part) => part !== "");
      return `- ${path}${about.length === 0 ? "" : `: ${about.join("; ")}`}`;
    });
    parts.push(`## More rules\n\nRead the file before you work on what it is about:\n${lines.join("\n")}`);
  }
  return parts.join("\n\n").toWellFormed();
}

/** Characters of a text that are looked through. */
const longestText = 64 * 1024;
/** Names that are taken from one text. */
const mostNames = 200;
/** Characters that a path can have. */
const longestPath = 1000;

/** What could be a path: in plain letters, also amidst a script that is written without spaces, and in those of all scripts. */
const runs = [/[\w./@+-]+/gu, /[\p{L}\p{N}_./@+-]+/gu];
const ending = /\.[A-Za-z][A-Za-z0-9]{0,9}(?![A-Za-z0-9])/gu;

/** The file names in a request, recognised by their extensions. In linear time. */
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
