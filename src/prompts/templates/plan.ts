import { builtInPrompts, type Prompts } from "../prompts.ts";
import { defineTemplate } from "../template.ts";

/** L1 of a turn for which a plan is wanted. */
export const plan = defineTemplate({
  name: "plan",
  title: { en: "Planned work", zh: "按计划工作" },
  description: "How a request is planned first and then carried out step by step.",
  content: [
    "The user wants a plan first. Before anything else, write the steps with write_todos: few, in an order that works, each one",
    "complete enough to be done on its own. Then carry them out in that order with the tools you need, and update the list as",
    "you go: one step in progress, finished steps completed. When a result changes what is needed, change the list.",
    "At the end, tell the user in two or three sentences what was done and what is left, if anything.",
  ].join("\n"),
});

/** L1 of a turn for which a plan is wanted. */
export function planPrompt(prompts: Prompts = builtInPrompts): string {
  return prompts.text(plan, {});
}
