import { builtInPrompts, type Prompts } from "./prompts.ts";
import { defineTemplate } from "./template.ts";

/** How a model without native tool calls asks for tools (PROMPT-16): format, tools, rules. Only for XML mode (PROMPT-15). */
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
    "Rules for calls:",
    "1. One call at a time; then wait for its result.",
    "2. All values are text.",
    "3. Yes and no are written true and false.",
    "4. Keep exactly to the form: every tag is closed, and nothing follows the last one.",
  ].join("\n"),
});

/** A tool as a text can tell it (PROMPT-14). `extraRules` stand at its end. */
export interface ToolText {
  name: string;
  /** What it is for, when to use it, and its limits. */
  description: string;
  parameters: readonly { name: string; required: boolean; description: string; example?: string }[];
  extraRules?: readonly string[];
}

/** The description of one tool (PROMPT-14): purpose, parameters, a sample call, further rules. */
export function toolText({ name, description, parameters, extraRules = [] }: ToolText): string {
  const listed = parameters.map(
    (parameter) => `- ${parameter.name} (${parameter.required ? "required" : "optional"}): ${parameter.description}`,
  );
  const sample = parameters
    .filter(({ required }) => required)
    .map((parameter) => `<parameter name="${parameter.name}">${parameter.example ?? "…"}</parameter>`);
  return [
    `### ${name}`,
    `Description: ${description}`,
    "Parameters:",
    ...(listed.length === 0 ? ["none"] : listed),
    "Example:",
    "<tool_use>",
    `<invoke name="${name}">`,
    ...sample,
    "</invoke>",
    "</tool_use>",
    ...extraRules.map((rule) => `Note: ${rule}`),
  ].join("\n");
}

/** The part of a system text that replaces the tools parameter in XML mode; only tools that the run may use belong in it. */
export function xmlToolsText({ tools }: { tools: readonly ToolText[] }, prompts: Prompts = builtInPrompts): string {
  return prompts.text(xmlTools, { tools: tools.map(toolText).join("\n\n") });
}
