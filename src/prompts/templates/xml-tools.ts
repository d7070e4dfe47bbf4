import { builtInPrompts, type Prompts } from "../prompts.ts";
import { defineTemplate } from "../template.ts";

/** What holds for both forms of calls. */
const rules = [
  "Rules for calls:",
  "1. One call at a time; then wait for its result.",
  "2. All values are text, written as they are: nothing in them is escaped but their own closing tag, as &lt;/…>.",
  "3. Yes and no are written true and false; lists and objects are written in JSON.",
  "4. Keep exactly to the form: every tag is closed, and nothing follows the last one.",
  "5. A call never stands in a code block or between backticks; there it is only an example.",
];

/** How a model without native tool calls asks for tools: format, tools, rules. Only for XML mode. */
export const xmlTools = defineTemplate({
  name: "xml_tools",
  title: { en: "Tools in XML", zh: "XML 工具格式" },
  description: "The format, the tools and the rules for models that have no tool calls of their own.",
  required: ["tools"],
  content: [
    "When something has to be done, answer with a call in this form:",
    "<tool_use>",
    '<invoke name="tool name">',
    '<parameter name="parameter name">value</parameter>',
    "</invoke>",
    "</tool_use>",
    "",
    "{tools}",
    "",
    ...rules,
  ].join("\n"),
});

/** `xmlTools` where each tool has a tag of its own (grammar B). */
export const xmlToolsByTag = defineTemplate({
  name: "xml_tools_by_tag",
  title: { en: "Tools in XML, by their own tags", zh: "XML 工具格式（按工具名标签）" },
  description: "The format, the tools and the rules for models that call tools by tags of the tools' names.",
  required: ["tools"],
  content: [
    "When something has to be done, answer with a call in this form:",
    "<tool_name>",
    "<parameter_name>value</parameter_name>",
    "</tool_name>",
    "",
    "{tools}",
    "",
    ...rules,
  ].join("\n"),
});

/** How calls are written: `<invoke name="…">` in `<tool_use>` (grammar A), or in tags named after the tools (B). */
export type CallGrammar = "invoke" | "tags";

/** A tool as a text can tell it. `extraRules` stand at its end. */
export interface ToolText {
  name: string;
  /** What it is for, when to use it, and its limits. */
  description: string;
  parameters: readonly { name: string; required: boolean; description: string; example?: string }[];
  extraRules?: readonly string[];
}

/** The description of one tool: purpose, parameters, a sample call, further rules. */
export function toolText(tool: ToolText, grammar: CallGrammar = "invoke"): string {
  const { name, description, parameters, extraRules = [] } = tool;
  const listed = parameters.map(
    (parameter) => `- ${parameter.name} (${parameter.required ? "required" : "optional"}): ${parameter.description}`,
  );
  return [
    `### ${name}`,
    `Description: ${description}`,
    "Parameters:",
    ...(listed.length === 0 ? ["none"] : listed),
    "Example:",
    ...sampleCall(tool, grammar),
    ...extraRules.map((rule) => `Note: ${rule}`),
  ].join("\n");
}

function sampleCall({ name, parameters }: ToolText, grammar: CallGrammar): string[] {
  const required = parameters.filter((parameter) => parameter.required);
  const samples = required.map((parameter) => ({ name: parameter.name, value: parameter.example ?? "…" }));
  return grammar === "tags"
    ? [`<${name}>`, ...samples.map((sample) => `<${sample.name}>${sample.value}</${sample.name}>`), `</${name}>`]
    : [
        "<tool_use>",
        `<invoke name="${name}">`,
        ...samples.map((sample) => `<parameter name="${sample.name}">${sample.value}</parameter>`),
        "</invoke>",
        "</tool_use>",
      ];
}

/** The part of a system text that replaces the tools parameter in XML mode; only tools that the run may use belong in it. */
export function xmlToolsText(
  { tools, grammar = "invoke" }: { tools: readonly ToolText[]; grammar?: CallGrammar },
  prompts: Prompts = builtInPrompts,
): string {
  const listed = tools.map((tool) => toolText(tool, grammar)).join("\n\n");
  return prompts.text(grammar === "tags" ? xmlToolsByTag : xmlTools, { tools: listed });
}
