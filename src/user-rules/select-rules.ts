import type { Rule } from "./rule-folders.ts";

/** The rules that apply to a request, and the others. */
export interface SelectedRules {
  applied: readonly Rule[];
  others: readonly Rule[];
}

/** Maximum characters of rules in a prompt; further rules are only listed. */
const maxCharacters = 128 * 1024;
/** Maximum number of rules listed without text. */
const maxListed = 50;

/**
 * Selects rules that always apply, indexes, and rules with a pattern that matches one of `files` (relative to the
 * workspace).
 */
export function selectRules(rules: readonly Rule[], files: readonly string[]): SelectedRules {
  const applied: Rule[] = [];
  const others: Rule[] = [];
  let characters = 0;
  for (const rule of rules) {
    const counts = rule.alwaysApply || rule.isIndex || files.some((file) => rule.isFor(file));
    characters += counts ? rule.text.length : 0;
    (counts && characters <= maxCharacters ? applied : others).push(rule);
  }
  return { applied, others };
}

/**
 * The rules for the model, and a list of the project's other rules, which it can read itself; those in the user's home
 * are out of its reach. Empty if there are none.
 */
export function rulesText({ applied, others }: SelectedRules): string {
  const parts = applied.map(({ scope, path, text }) => `## Rule of the ${scope}: ${path}\n\n${text}`);
  if (new Set(applied.map(({ scope }) => scope)).size > 1) {
    parts.unshift("Where a rule of the project and one of the user disagree, the rule of the project counts.");
  }
  const listed = others.filter(({ scope }) => scope === "project").slice(0, maxListed);
  if (listed.length > 0) {
    const lines = listed.map(({ path, description, globs }) => {
      const about = [description, globs.length === 0 ? "" : `for ${globs.join(", ")}`].filter((part) => part !== "");
      return `- ${path}${about.length === 0 ? "" : `: ${about.join("; ")}`}`;
    });
    parts.push(`## More rules\n\nRead the file before you work on what it is about:\n${lines.join("\n")}`);
  }
  return parts.join("\n\n").toWellFormed();
}

/** Characters searched per text. */
const maxTextLength = 64 * 1024;
/** Maximum number of names per text. */
const maxNames = 200;
/** Maximum characters of a path. */
const maxPathLength = 1000;

/** Possible paths: in ASCII, also within scripts written without spaces, and in letters of all scripts. */
const runs = [/[\w./@+-]+/gu, /[\p{L}\p{N}_./@+-]+/gu];
const ending = /\.[A-Za-z][A-Za-z0-9]{0,9}(?![A-Za-z0-9])/gu;

/** File names in a text, recognized by extension, in linear time. */
export function filesNamed(text: string): string[] {
  const names = new Set<string>();
  for (const [run] of runs.flatMap((form) => [...text.slice(0, maxTextLength).matchAll(form)])) {
    const last = run.length > maxPathLength ? undefined : [...run.matchAll(ending)].at(-1);
    if (last === undefined) continue;
    const name = run.slice(0, last.index + last[0].length).replace(/^\.\//u, "");
    if (!/(?:^|\/)\.[^./]*$/u.test(name)) names.add(name);
    if (names.size === maxNames) break;
  }
  return [...names];
}
