/** Grammar of calls: `<invoke name="…">` in `<tool_use>` (A), or tags named after the tools (B). */
export type CallGrammar = "invoke" | "tags";

/** A tool to describe in text. `extraRules` come last. */
export interface ToolText {
  name: string;
  /** What it is for, when to use it, and its limits. */
  description: string;
  parameters: readonly { name: string; required: boolean; description: string; example?: string }[];
  extraRules?: readonly string[];
}

/** Creates the system text that replaces the tools parameter; apps may provide their own. */
export type DescribeTools = (tools: readonly ToolText[], grammar: CallGrammar) => string;

/** Rules for both grammars. */
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

/** The text per grammar: format, placeholder of the tools (`{tools}`), rules. */
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

/** Describes one tool: purpose, parameters, sample call, extra rules. */
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

/** Descriptions of all tools, for `{tools}`. */
export function toolTexts(tools: readonly ToolText[], grammar: CallGrammar): string {
  return tools.map((tool) => toolText(tool, grammar)).join("\n\n");
}

/** The built-in description. */
export const describeTools: DescribeTools = (tools, grammar) =>
  formTexts[grammar].replace(place, () => toolTexts(tools, grammar));
