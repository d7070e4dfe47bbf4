import { builtInPrompts, type Prompts } from "../prompts.ts";
import { defineTemplate } from "../template.ts";

/** L1 of one step of a plan. */
export const planStep = defineTemplate({
  name: "plan_step",
  title: { en: "One step of a plan", zh: "执行计划步骤" },
  description: "How one step of a plan is carried out; the step itself follows as a message.",
  optional: ["tool"],
  marker: "task: plan_step",
  content: [
    "You carry out one step of a plan. Do exactly this step with the tools you need, then say in one sentence what came of it.",
    "Results of earlier steps stand in the conversation.",
    "The plan means this tool for the step: {tool}.",
  ].join("\n"),
});

/** L1 of one step of a plan; `tool` is the one the plan means for it. */
export function planStepPrompt({ tool }: { tool: string | null }, prompts: Prompts = builtInPrompts): string {
  return prompts.text(planStep, { tool });
}

/** The step itself, as the last message the model sees. The offline model reads it, so its form is fixed. */
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
