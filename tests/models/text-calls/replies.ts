import fc from "fast-check";
import { createTextCallParser } from "@millrace/models/text-calls/parser";
import type { ReplyPart } from "@millrace/models/text-calls/forms/tool-use";

/** The tools that the replies of these tests may call. */
export const toolNames = ["read_file", "write_file", "list_tasks", "time"];

/** A whole call of grammar A. */
export function invoke(name: string, params: Record<string, string> = {}): string {
  const written = Object.entries(params).map(([key, value]) => `<parameter name="${key}">${value}</parameter>\n`);
  return `<tool_use>\n<invoke name="${name}">\n${written.join("")}</invoke>\n</tool_use>`;
}

/** What a parser finds in a reply that comes in these pieces, neighbouring words as one. */
export function partsOf(...pieces: string[]): ReplyPart[] {
  const parser = createTextCallParser(toolNames);
  const merged: ReplyPart[] = [];
  for (const part of [...pieces.flatMap((piece) => parser.push(piece)), ...parser.end()]) {
    const last = merged.at(-1);
    if (part.kind === "text" && last?.kind === "text") last.text += part.text;
    else if (part.kind === "reasoning" && last?.kind === "reasoning") last.text += part.text;
    else merged.push(part);
  }
  return merged;
}

const bar = "｜";
/** Calls as DeepSeek writes them: V3.1, V3 and R1 with a code block, and with plain bars. */
export const deepseek = {
  short: (name: string, args: string): string =>
    `<${bar}tool▁call▁begin${bar}>${name}<${bar}tool▁sep${bar}>${args}<${bar}tool▁call▁end${bar}>`,
  long: (name: string, args: string): string =>
    `<${bar}tool▁call▁begin${bar}>function<${bar}tool▁sep${bar}>${name}\n\`\`\`json\n${args}\n\`\`\`<${bar}tool▁call▁end${bar}>`,
  all: (...calls: string[]): string => `<${bar}tool▁calls▁begin${bar}>${calls.join("\n")}<${bar}tool▁calls▁end${bar}>`,
  plain: (text: string): string => text.replaceAll(bar, "|").replaceAll("▁", "_"),
};

/** Calls as DeepSeek writes them since V3.2; a value that is no text is JSON. */
export const dsml = {
  call: (name: string, values: Record<string, unknown>): string =>
    [
      `<${bar}DSML${bar}invoke name="${name}">`,
      ...Object.entries(values).map(
        ([key, value]) =>
          `<${bar}DSML${bar}parameter name="${key}" string="${typeof value === "string"}">` +
          `${typeof value === "string" ? value : JSON.stringify(value)}</${bar}DSML${bar}parameter>`,
      ),
      `</${bar}DSML${bar}invoke>`,
    ].join("\n"),
  all: (...calls: string[]): string =>
    `<${bar}DSML${bar}function_calls>\n${calls.join("\n")}\n</${bar}DSML${bar}function_calls>`,
};

/** What replies are made of: calls of every form, whole and broken, and what only looks like one. */
const fragments = [
  invoke("read_file", { path: "a.txt" }),
  invoke("write_file", { path: "b", content: "\nif (a < b && c) {\n  <b>x</b> </param> &lt;\n}\n" }),
  invoke("unknown_tool", { text: "你好 😀 ]]> <![CDATA[x]]>" }),
  '<tool_use><invoke name="read_file"><parameter name="path">a</parameter></invoke><invoke name="list_tasks"/></tool_use>',
  "<read_file><path>a.txt</path></read_file>",
  "<write_file>\n<path>a</path>\n<content>\n<p>x</p>\n</content>\n</write_file>",
  "<list_tasks/>",
  '{"tool":"read_file","arguments":{"path":"a \\"}{ b"}}',
  "{'tool': 'read_file', 'arguments': {'path': 'a',}}",
  '<tool_call>{"name": "read_file", "arguments": {"path": "a"}}</tool_call>',
  "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n</tool_call>",
  "<tool_call>\n<function=read_file>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>",
  deepseek.all(deepseek.short("read_file", '{"path": "a"}'), deepseek.short("list_tasks", "{}")),
  deepseek.all(deepseek.long("read_file", '{"path": "}\\"{"}'), deepseek.long("unknown", '{"a": [1]}')),
  deepseek.plain(deepseek.all(deepseek.short("read_file", "{'path': 'a',}"))),
  deepseek.short("time", "[1]"),
  deepseek.all(),
  dsml.all(dsml.call("read_file", { path: "a < b\n</｜DSML｜x>", lines: [1, 2] }), dsml.call("list_tasks", {})),
  deepseek.plain(dsml.all(dsml.call("write_file", { path: "b", content: "\n你好 😀\n" }))),
  dsml.all(dsml.call("unknown", { a: 1 })).replaceAll("function_calls", "tool_calls"),
  dsml.all('<｜DSML｜invoke name="read_file">\n{"path": "a"}\n</｜DSML｜invoke>'),
  dsml.call("time", { zone: null }).replaceAll("｜", "｜｜"),
  dsml.all('<｜DSML｜invoke name="read_file">\njunk </｜DSML｜invoke>', dsml.call("time", {})),
  '<｜DSML｜parameter name="path" string="true">',
  "</｜DSML｜function_calls>",
  "<｜DSML",
  "<｜tool▁sep｜>",
  "<｜",
  "<|im_end|>",
  '[TOOL_CALLS][{"name": "read_file", "arguments": {"path": "a"}}, {"name": "list_tasks", "arguments": {}, "id": "x"}]',
  '[TOOL_CALLS] [{"name": "read_file", "arguments": {"path": "]"}}',
  '[TOOL_CALLS]read_file[ARGS]{"path": "a"}[TOOL_CALLS]list_tasks{}',
  '[TOOL_CALLS]read_file[CALL_ID]a1b2c3[ARGS]{"path": "a"}',
  "[TOOL_CALLS] is a mark, [Tom] and [ARGS] not ",
  "[TOOL_CALLS][1, 2]",
  "[THINK]Is [TOOL_CALLS] right? [/[/THINK]\n\n",
  "\n[THINK]",
  "[/THINK]",
  "[TH",
  "</think>",
  "</think>\n",
  "<thinking>Is <tool_use> right? `</thinking>",
  "<think>so</think>",
  "```xml\n",
  "\n```\n",
  "`",
  "~~~\n",
  "\n",
  "Some words. ",
  "a < b, b > a, {x: 1} and <b>bold</b> ",
  '{"tool": 1} {"tool":"unknown","arguments":{}} ',
  "use <read_file> for files ",
  "<tool_use>",
  "</tool_use>",
  '<invoke name="read_file">',
  '<parameter name="path">',
  "</parameter>",
  "</invoke>",
  "<tool_use><invoke name='read_file'><parameter name='path'>a</parameter> junk </invoke></tool_use>",
  "<read_file><path>a</path> words </read_file>",
  "<arg_key>",
  "<think",
  "</",
  "<",
  "{",
  '{"tool":"read_file","arguments":{"path":"never',
];

/** A reply of fragments, of which some are cut short. */
const reply = fc
  .array(
    fc.tuple(
      fc.constantFrom(...fragments),
      fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, fc.double({ min: 0, max: 1, noNaN: true })),
    ),
    {
      maxLength: 8,
    },
  )
  .map((parts) => parts.map(([text, share]) => text.slice(0, Math.ceil(text.length * share))).join(""));

/** A reply, and the pieces it is cut into. */
export const cutReply = reply.chain((text) =>
  fc
    .oneof(
      fc.constant(Array.from({ length: text.length }, (_, at) => text.charAt(at))),
      fc
        .array(fc.nat({ max: text.length }), { maxLength: 12 })
        .map((places) => [...places, text.length].toSorted((a, b) => a - b))
        .map((places) => places.map((place, at) => text.slice(places[at - 1] ?? 0, place))),
    )
    .map((pieces) => ({ text, pieces })),
);
