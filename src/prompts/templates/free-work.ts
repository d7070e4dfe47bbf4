import { builtInPrompts, type Prompts } from "../prompts.ts";
import { defineTemplate } from "../template.ts";

/** PROMPT_FREE_WORK_SYSTEM: L1 of free work. */
export const freeWork = defineTemplate({
  name: "free_work",
  title: { en: "Free work", zh: "自由工作" },
  description: "How the whole tool set is used for a request that needs no plan.",
  content: "Carry out the requests of a message in order. If the user changes their mind, only the new request counts.",
});

/** L1 of free work: the whole tool set, used as the request needs it. */
export function freeWorkPrompt(prompts: Prompts = builtInPrompts): string {
  return prompts.text(freeWork, {});
}
