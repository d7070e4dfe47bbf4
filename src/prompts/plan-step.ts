/** L1 of one step of a plan; `tool` is the one the plan means for it. */
export function planStepPrompt({ tool }: { tool: string | null }): string {
  return [
    "<!-- task: plan_step -->",
    "You carry out one step of a plan. Do exactly this step with the tools you need, then say in one sentence what came of it.",
    "Results of earlier steps stand in the conversation.",
    ...(tool === null ? [] : [`The plan means the tool ${tool} for this step.`]),
  ].join("\n");
}

/** The step itself, as the last message the model sees. */
export function planStepInstruction({
  number,
  total,
  goal,
  input,
}: {
  number: number;
  total: number;
  goal: string;
  input: string;
}): string {
  const details = input === "" || goal.includes(input) ? "" : `\nInput: ${input}`;
  return `Step ${number} of ${total}: ${goal}${details}`;
}
