/** Levels of nesting from which on JSON has no line breaks: the blanks before its lines would be more than all of the rest. */
const deepest = 60;

/** A value of JSON as a text that can be read. It may be nested as deep as it wants. */
export function jsonText(value: unknown): string {
  return isDeep(value) ? inOneLine(value) : (JSON.stringify(value, null, 2) ?? "");
}

/** Whether a value is nested deeper than a form, or a person, can follow. */
export function isDeep(value: unknown): boolean {
  let level = [value];
  for (let depth = 0; depth <= deepest && level.length > 0; depth += 1) {
    level = level.flatMap((one) => (typeof one === "object" && one !== null ? Object.values(one) : []));
  }
  return level.length > 0;
}

/** Without recursion, which a deep value is too much for. */
function inOneLine(value: unknown): string {
  const written: string[] = [];
  // What is still to be written, what comes next at its end: a text as it is, or a value.
  const open: (string | { value: unknown })[] = [{ value }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next === "string") {
      written.push(next);
      continue;
    }
    const one = next.value;
    if (typeof one !== "object" || one === null) {
      written.push(JSON.stringify(one) ?? "null");
      continue;
    }
    const isList = Array.isArray(one);
    written.push(isList ? "[" : "{");
    open.push(isList ? "]" : "}");
    for (const [index, [name, part]] of [...Object.entries(one).entries()].toReversed()) {
      open.push({ value: part });
      if (!isList) open.push(`${JSON.stringify(name)}: `);
      if (index > 0) open.push(", ");
    }
  }
  return written.join("");
}
