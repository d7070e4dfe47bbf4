import { formTexts, toolTexts, type DescribeTools } from "@millrace/models/describe-tools";
import type { Prompts } from "../prompts.ts";
import { defineTemplate } from "../template.ts";

/** How a model without native tool calls asks for tools: format, tools, rules. Only for XML mode. */
export const xmlTools = defineTemplate({
  name: "xml_tools",
  title: { en: "Tools in XML", zh: "XML 工具格式" },
  description: "The format, the tools and the rules for models that have no tool calls of their own.",
  required: ["tools"],
  content: formTexts.invoke,
});

/** `xmlTools` where each tool has a tag of its own (grammar B). */
export const xmlToolsByTag = defineTemplate({
  name: "xml_tools_by_tag",
  title: { en: "Tools in XML, by their own tags", zh: "XML 工具格式（按工具名标签）" },
  description: "The format, the tools and the rules for models that call tools by tags of the tools' names.",
  required: ["tools"],
  content: formTexts.tags,
});

/** Describes tools in the words of these prompts, in which an operator may have replaced the form. */
export function describeToolsBy(prompts: Prompts): DescribeTools {
  return (tools, grammar) =>
    prompts.text(grammar === "tags" ? xmlToolsByTag : xmlTools, { tools: toolTexts(tools, grammar) });
}
