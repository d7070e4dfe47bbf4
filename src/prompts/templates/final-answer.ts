import { builtInPrompts, type Prompts } from "../prompts.ts";
import { defineTemplate } from "../template.ts";

/** L1 after the last step of a plan. */
export const finalAnswer = defineTemplate({
  name: "final_answer",
  title: { en: "Answer after a plan", zh: "计划完成后的答复" },
  description: "Asks for one short answer after the last step of a plan.",
  marker: "task: final_answer",
  content: [
    "All steps of the plan have been worked on. Tell the user in two or three sentences what was done, what came of it, and",
    "what is left, if anything. No headings, no list of steps.",
  ].join("\n"),
});

/** L1 after the last step of a plan: one short summary. */
export function finalAnswerPrompt(prompts: Prompts = builtInPrompts): string {
  return prompts.text(finalAnswer, {});
}

/** The request once more, as the last message the model sees. The offline model knows it by its beginning. */
export function finalAnswerInstruction({ request }: { request: string }): string {
  return `All steps are through. The request was: ${request}`;
}
