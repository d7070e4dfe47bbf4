import { fill, placeholder, placeholdersOf, tellingLine } from "./template.ts";

/** The values that a text was filled with. */
export type FoundValues = Readonly<Record<string, unknown>>;

/**
 * The values with which a template became a part of one of these texts; `undefined` where it stands in none of them.
 * What is found makes exactly that part again.
 */
export function valuesIn(
  content: string,
  variables: readonly string[],
  texts: readonly string[],
): FoundValues | undefined {
  const used = placeholdersOf(content).filter((name) => variables.includes(name));
  for (const text of texts) {
    const shown = shownLines(content, text);
    const values = shown === "" ? undefined : valuesOf(shown, new Set(used), text);
    if (values !== undefined && text.includes(fill(content, variables, values))) return values;
  }
  return undefined;
}

/** A line that only shows a value is left out where that is empty: then its label is not in the text either. */
function shownLines(content: string, text: string): string {
  const isShown = (line: string): boolean => {
    const label = tellingLine.test(line.trim()) ? line.slice(0, line.indexOf("{")) : "";
    return label.trim() === "" || text.includes(label);
  };
  return content.split("\n").filter(isShown).join("\n");
}

/** Walks through the words of the template from one to the next: what lies between two is a value. */
function valuesOf(content: string, variables: ReadonlySet<string>, text: string): Record<string, string> | undefined {
  const values: Record<string, string> = {};
  let name: string | undefined;
  let from = 0;
  const take = (words: string): boolean => {
    const at = words === "" && name !== undefined ? text.length : text.indexOf(words, from);
    if (at === -1) return false;
    if (name !== undefined) values[name] ??= text.slice(from, at);
    from = at + words.length;
    return true;
  };
  let begin = 0;
  for (const match of content.matchAll(placeholder)) {
    const [written, variable = ""] = match;
    if (!variables.has(variable)) continue;
    const words = content.slice(begin, match.index);
    // Of two variables side by side the first is taken as empty.
    if (words === "" && name !== undefined) values[name] ??= "";
    else if (!take(words)) return undefined;
    name = variable;
    begin = match.index + written.length;
  }
  return take(content.slice(begin)) ? values : undefined;
}
