/** Which templates a node of the workflow uses for its task: those about circuits are the tasks of preset actions. */
const nodeTemplates: Readonly<Record<string, readonly string[]>> = {
  compress: ["compress", "compress_now"],
  intent: ["intent", "reply", "continue_reply"],
  clarify: ["clarify"],
  plan: ["plan"],
  action: [
    "free_work",
    "plan_step",
    "final_answer",
    "initial_design",
    "optimize_parameters",
    "fix_error",
    "write_report",
    "extract_design_goals",
    "analyze_simulation",
    "execute_instruction",
    "general_conversation",
  ],
  free_work: ["free_work", "plan_mode"],
};

/** The templates of a node, the main one first; empty for a node that is not known. */
export function templatesOfNode(node: string): readonly string[] {
  return (Object.hasOwn(nodeTemplates, node) && nodeTemplates[node]) || [];
}

/** The nodes that use a template. */
export function nodesOfTemplate(template: string): string[] {
  return Object.keys(nodeTemplates).filter((node) => templatesOfNode(node).includes(template));
}
