import { builtInPrompts, type Prompts } from "../prompts.ts";
import { defineTemplate } from "../template.ts";

/** Follows a text reply when the user chose a tool. */
export const toolNotCalled = defineTemplate({
  name: "tool_not_called",
  title: { en: "Chosen tool not called", zh: "未调用指定工具" },
  description: "Asks once more for the tool that the user chose, after a reply in words.",
  required: ["tool"],
  content: "You have answered in words. The user has chosen the tool {tool}: call it now, once, for their request.",
});

/** Asks once more for the tool that the user chose. */
export function toolNotCalledPrompt(tool: string, prompts: Prompts = builtInPrompts): string {
  return prompts.text(toolNotCalled, { tool });
}
