/** How calls are written: `<invoke name="…">` in `<tool_use>` (grammar A), or in tags named after the tools (B). */
export type CallGrammar = "invoke" | "tags";

/** A tool as a text can describe it. `extraRules` stand at its end. */
export interface ToolText {
  name: string;
  /** What it is for, when to use it, and its limits. */
  description: string;
  parameters: readonly { name: string; required: boolean; description: string; example?: string }[];
  extraRules?: readonly string[];
}

/** Makes the part of a system text that replaces the tools parameter; an app may hand in its own. */
export type DescribeTools = (tools: readonly ToolText[], grammar: CallGrammar) => string;

/** What holds for both forms of calls. */
const rules = [
  "Rules for calls:",
  "1. One call at a time; then wait for its result.",
  "2. All values are text, written as they are: nothing in them is escaped but their own closing tag, as &lt;/…>.",
  "3. Yes and no are written true and false; lists and objects are written in JSON.",
  "4. Keep exactly to the form: every tag is closed, and nothing follows the last one.",
  "5. A call never stands in a code block or between backticks; there it is only an example.",
];

const place = "{tools}";

function formText(...call: string[]): string {
  return ["When something has to be done, answer with a call in this form:", ...call, "", place, "", ...rules].join(
    "\n",
  );
}

/** The text of each form: the form, the place of the tools (`{tools}`), the rules. */
export const formTexts: Readonly<Record<CallGrammar, string>> = {
  invoke: formText(
    "<tool_use>",
    '<invoke name="tool name">',
    '<parameter name="parameter name">value</parameter>',
    "</invoke>",
    "</tool_use>",
  ),
  tags: formText("<tool_name>", "<parameter_name>value</parameter_name>", "</tool_name>"),
};

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

/** The tools one after the other, as the form's text takes them. */
export function toolTexts(tools: readonly ToolText[], grammar: CallGrammar): string {
  return tools.map((tool) => toolText(tool, grammar)).join("\n\n");
}

/** The built-in description. */
export const describeTools: DescribeTools = (tools, grammar) =>
  formTexts[grammar].replace(place, () => toolTexts(tools, grammar));
