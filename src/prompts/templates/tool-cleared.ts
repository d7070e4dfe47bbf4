import { defineTemplate } from "../template.ts";

/** Replaces a cleared tool result. */
export const toolCleared = defineTemplate({
  name: "tool_cleared",
  title: { en: "Cleared tool result", zh: "已清理的工具结果" },
  description: "Stands in place of a tool result that was removed from the view.",
  required: ["tool"],
  content: "Content cleared to save tokens. Call {tool} again if it is needed.",
});
