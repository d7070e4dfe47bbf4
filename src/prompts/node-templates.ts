/** Which templates a node of the workflow uses for its task. */
const nodeTemplates: Readonly<Record<string, readonly string[]>> = {
  compress: ["compress", "compress_now"],
  intent: ["reply", "continue_reply"],
  clarify: ["clarify"],
  plan: ["plan"],
  action: ["free_work"],
  free_work: ["free_work", "plan_mode"],
};

/** The templates of a node, the main one first; empty for a node that is not known. `actions`: those of preset actions. */
export function templatesOfNode(node: string, actions: readonly string[]): readonly string[] {
  const own = Object.hasOwn(nodeTemplates, node) ? (nodeTemplates[node] ?? []) : [];
  return node === "action" ? [...own, ...actions] : own;
}

/** The nodes that use a template. */
export function nodesOfTemplate(template: string, actions: readonly string[]): string[] {
  return Object.keys(nodeTemplates).filter((node) => templatesOfNode(node, actions).includes(template));
}
