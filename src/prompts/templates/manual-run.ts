import { builtInPrompts, type Prompts } from "../prompts.ts";
import { defineTemplate } from "../template.ts";

/** What stands in the history before a call that the user has made by hand. */
export const manualRun = defineTemplate({
  name: "manual_run",
  title: { en: "A tool run by hand", zh: "手动执行工具" },
  description: "Tells the model that the user, and not the model, has run a tool; the call and its result follow.",
  required: ["tool"],
  content: "I have run the tool {tool} myself. The call and its result follow; there is nothing to do about it.",
});

/** The user's words before a call made by hand. */
export function manualRunNote(values: { tool: string }, prompts: Prompts = builtInPrompts): string {
  return prompts.text(manualRun, values);
}
