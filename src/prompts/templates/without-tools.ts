import { builtInPrompts, type Prompts } from "../prompts.ts";
import { defineTemplate } from "../template.ts";

/** What stands in a call that has to do without tools because the model cannot use them. */
export const withoutToolsTemplate = defineTemplate({
  name: "without_tools",
  title: { en: "Without tools", zh: "无法使用工具" },
  description:
    "Makes the model answer from what is known, and say what the user can do by hand, where no tool can be used.",
  content:
    "Note: no tools can be used now. Answer from what is known. Where a tool would be needed, say what could not be done and tell the user how to do it by hand.",
});

/** The note of a call that has to do without tools because the model cannot use them. */
export function withoutTools(prompts: Prompts = builtInPrompts): string {
  return prompts.text(withoutToolsTemplate, {});
}
