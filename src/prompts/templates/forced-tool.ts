import { defineTemplate } from "../template.ts";

/** The user has chosen a tool. */
export const forcedTool = defineTemplate({
  name: "forced_tool",
  title: { en: "Chosen tool", zh: "指定工具" },
  description: "Tells that the tool which the user chose has to be used.",
  required: ["tool"],
  content: "The user has chosen the tool {tool}. Use exactly this tool, once, for the request.",
});
