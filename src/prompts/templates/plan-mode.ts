import { builtInPrompts, type Prompts } from "../prompts.ts";
import { defineTemplate } from "../template.ts";

/** L1 while the user only wants to plan. */
export const planMode = defineTemplate({
  name: "plan_mode",
  title: { en: "Plan mode", zh: "规划模式" },
  description: "How a request is talked through while nothing may be changed.",
  content: [
    "The user wants to plan. Talk the request through with them and show a plan with plan_mode_respond: what is to be done, in which",
    "order, and what you are not sure of. You may look at what is there; nothing can be changed now, so never say that anything was",
    "done. When the user agrees with the plan, tell them in one sentence that it is carried out once they switch to acting.",
  ].join("\n"),
});

/** L1 of plan mode. */
export function planModePrompt(prompts: Prompts = builtInPrompts): string {
  return prompts.text(planMode, {});
}
