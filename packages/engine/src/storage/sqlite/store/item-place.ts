/** A namespace as it is stored: each label with a dot behind it, so that what is below it begins with its text. */
export function joined(labels: readonly string[]): string {
  return labels.map((label) => `${label}.`).join("");
}

/** The labels of a stored namespace; a label holds no dot. */
export function splitNamespace(text: string): string[] {
  return text.split(".").slice(0, -1);
}

/** Between which texts all namespaces lie that begin with these labels; `undefined` for no labels, which all begin with. */
export function rangeOf(prefix: readonly string[]): { from: string; to: string } | undefined {
  if (prefix.length === 0) return undefined;
  const from = joined(prefix);
  // The character after the dot.
  return { from, to: `${from.slice(0, -1)}/` };
}
