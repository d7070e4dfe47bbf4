/** A label with all that begins with it. */
export interface Branch {
  label: string;
  /** All labels up to this one. */
  namespace: readonly string[];
  branches: Branch[];
}

/** Namespaces as a tree, in the order of their labels. */
export function treeOf(namespaces: readonly (readonly string[])[]): Branch[] {
  const roots: Branch[] = [];
  for (const namespace of namespaces) {
    let level = roots;
    for (const [at, label] of namespace.entries()) {
      let branch = level.find((one) => one.label === label);
      if (branch === undefined) {
        branch = { label, namespace: namespace.slice(0, at + 1), branches: [] };
        level.push(branch);
        level.sort((left, right) => left.label.localeCompare(right.label));
      }
      level = branch.branches;
    }
  }
  return roots;
}

/** The labels of a namespace as it is written, with dots between them; `undefined`: it cannot be one. */
export function labelsOf(text: string): readonly string[] | undefined {
  const labels = text.split(".").map((label) => label.trim());
  return labels.includes("") ? undefined : labels;
}
