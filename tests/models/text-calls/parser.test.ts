import { describe, expect, it } from "vitest";
import { createTextCallParser } from "@millrace/models/text-calls/parser";
import { maxCallLength, type ReplyPart } from "@millrace/models/text-calls/forms/tool-use";
import { deepseek, invoke, partsOf, toolNames } from "./replies.ts";

/** The parts in short: words as they are, thoughts in brackets, calls and problems as objects. */
function inShort(parts: ReplyPart[]): unknown[] {
  return parts.flatMap((part): unknown[] => {
    if (part.kind === "text") return [part.text];
    if (part.kind === "reasoning") return [`[${part.text}]`];
    if (part.kind === "problem") return [{ [part.problem.kind]: part.problem.name }];
    const { partial, name, params, args } = part.use;
    return partial ? [] : [{ [name]: args ?? params }];
  });
}

const read = (path: string): unknown => ({ read_file: { path } });

describe("calls in a text", () => {
  it.each<[string, string, unknown[]]>([
    ["grammar A", `Hi.\n${invoke("read_file", { path: "a" })}\n\nbye`, ["Hi.\n", read("a"), "bye"]],
    ["a call without parameters", invoke("list_tasks"), [{ list_tasks: {} }]],
    ["an unknown tool, so that the model gets an error", invoke("nothing", { a: "1" }), [{ nothing: { a: "1" } }]],
    [
      "several in one envelope, in order",
      '<tool_use><invoke name="read_file"><parameter name="path">a</parameter></invoke><invoke name="list_tasks"/></tool_use>',
      [read("a"), { list_tasks: {} }],
    ],
    [
      "other quotes, spaces and no envelope",
      "<invoke  name='read_file' >\n<parameter name = path >a</parameter></invoke>",
      [read("a")],
    ],
    ["grammar B", "So: <read_file>\n<path>a</path>\n</read_file> done", ["So: ", read("a"), "done"]],
    [
      "grammar B without parameters",
      "<list_tasks></list_tasks><list_tasks/>",
      [{ list_tasks: {} }, { list_tasks: {} }],
    ],
    ["grammar B in the envelope of A", "<tool_use><read_file><path>a</path></read_file></tool_use>", [read("a")]],
    ["JSON", 'Well {"tool":"read_file","arguments":{"path":"a"}} done', ["Well ", read("a"), "done"]],
    ["JSON with OpenAI's words", '{"name": "read_file", "parameters": {"path": "a"}}', [read("a")]],
    ["JSON with its arguments in a text", '{"tool":"read_file","arguments":"{\\"path\\":\\"a\\"}"}', [read("a")]],
    ["JSON without arguments", '{"tool": "list_tasks"}', [{ list_tasks: {} }]],
    ["JSON that needs repair", "{'tool': 'read_file', 'arguments': {'path': 'a',}}", [read("a")]],
    ["JSON with braces in a text", '{"tool":"read_file","arguments":{"path":"}\\"{"}}', [read('}"{')]],
    [
      "the form of Hermes and Qwen",
      '<tool_call>\n{"name": "x", "arguments": {"a": 1}}\n</tool_call>',
      [{ x: { a: 1 } }],
    ],
    [
      "the form of Qwen's coders",
      "<tool_call>\n<function=read_file>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>",
      [read("a")],
    ],
    [
      "the form of GLM",
      "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n</tool_call>",
      [read("a")],
    ],
    [
      "the marks of DeepSeek V3.1",
      `Hi.\n${deepseek.all(deepseek.short("read_file", '{"path": "a"}'), deepseek.short("list_tasks", "{}"))}`,
      ["Hi.\n", read("a"), { list_tasks: {} }],
    ],
    [
      "the marks of DeepSeek V3 and R1",
      `${deepseek.all(deepseek.long("read_file", '{"path": "a"}'), deepseek.long("unknown", "{}"))}done`,
      [read("a"), { unknown: {} }, "done"],
    ],
    [
      "the marks of DeepSeek in plain letters, and one call without those of all",
      `${deepseek.plain(deepseek.all(deepseek.short("read_file", '{"path": "a"}')))}\n${deepseek.short("time", "{}")}`,
      [read("a"), { time: {} }],
    ],
    [
      "JSON in DeepSeek's marks that needs repair",
      deepseek.all(deepseek.short("read_file", '{"path": "a",}')),
      [read("a")],
    ],
    [
      "the list of Mistral",
      'Hi. [TOOL_CALLS] [{"name": "read_file", "arguments": {"path": "a"}, "id": "b"}, {"name": "x", "arguments": {}}] on',
      ["Hi. ", read("a"), { x: {} }, "on"],
    ],
    [
      "the names of Mistral",
      '[TOOL_CALLS]read_file[ARGS]{"path": "a"}[TOOL_CALLS]list_tasks[CALL_ID]b1[ARGS]{}[TOOL_CALLS]time{"a": 1}',
      [read("a"), { list_tasks: {} }, { time: { a: 1 } }],
    ],
    ["thoughts", "<thinking>Should I?</thinking>\nYes. <think>Hm", ["[Should I?]", "Yes. ", "[Hm]"]],
    ["no call in thoughts", `<think>${invoke("list_tasks")}</think>No.`, [`[${invoke("list_tasks")}]`, "No."]],
    [
      "a missing end of the envelope",
      `${invoke("list_tasks").replace("</tool_use>", "")}done`,
      [{ list_tasks: {} }, "done"],
    ],
  ])("are found: %s", (_, text, expected) => {
    expect(inShort(partsOf(text))).toEqual(expected);
    expect(inShort(partsOf(...text.split("")))).toEqual(expected);
  });

  it.each<[string, string, string]>([
    ["markup, as it is", "<b>x</b> <i", "<b>x</b> <i"],
    ["entities, as they are", "&lt;b&gt; &amp;", "&lt;b&gt; &amp;"],
    ["a section of character data, as it is", "<![CDATA[a]]>", "<![CDATA[a]]>"],
    [
      "another call",
      '<tool_use><invoke name="list_tasks"></invoke></tool_use>',
      '<tool_use><invoke name="list_tasks"></invoke></tool_use>',
    ],
    ["the beginning of its own end", "a</param </parameter", "a</param </parameter"],
    ["its own end, escaped", "a&lt;/parameter>b&amp;lt;/parameter>c", "a</parameter>b&lt;/parameter>c"],
    ["a code block", "```js\nx\n```", "```js\nx\n```"],
    ["lines of their own", "\n  a\nb\n", "  a\nb"],
    ["lines that end as in Windows", "\r\na\r\n", "a"],
    ["nothing", "", ""],
    ["characters of two units", "😀你", "😀你"],
  ])("have values that hold %s", (_, written, value) => {
    expect(inShort(partsOf(invoke("write_file", { content: written })))).toEqual([{ write_file: { content: value } }]);
  });
});

describe("what only looks like a call", () => {
  it.each([
    "a < b && c > d, <b>bold</b> and <br/>",
    "Use <read_file> to read, or <tool_use>.",
    "The tag <tool_use> opens, </tool_use> closes.",
    '<invoke name="unknown"></invoke>',
    'It is <time> now <time datetime="x">',
    '`<tool_use><invoke name="list_tasks"></invoke></tool_use>` is a call',
    `Write it like this:\n\n\`\`\`xml\n${invoke("list_tasks")}\n\`\`\`\n`,
    `1. ~~~\n   <list_tasks/>\n   ~~~`,
    `\`\`\`\`\n\`\`\`\n<list_tasks/>\n\`\`\`\n<list_tasks/>\n\`\`\`\``,
    'Use `{"tool":"list_tasks"}`.',
    '{"tool": "unknown", "arguments": {}} {"tool": 1} {"name": "read_file"} {"name": "read_file", "age": 3} {}',
    "function f() { return {tool: 'read_file'}; }",
    "<thinking-cap> <thinker>",
    `<tool_use>${" ".repeat(3000)}<invoke name="list_tasks">`.slice(0, 3000),
    "<tool_call>hello</tool_call>",
    "</thinking>",
    "</think> ends a thought",
    "DeepSeek writes <｜tool▁calls▁begin｜> and then a call",
    "<｜tool▁calls▁begin｜><｜tool▁calls▁end｜> <|im_start|> a <| b",
    `\`${deepseek.all(deepseek.short("list_tasks", "{}"))}\` and \`[TOOL_CALLS]list_tasks{}\``,
    "[TOOL_CALLS] is what Mistral writes; [TOOL_CALLS][1] [TOOL_CALLS]read_file [T [",
    "<tool_use",
    "{",
  ])("stays text: %s", (text) => {
    expect(inShort(partsOf(text))).toEqual([text]);
    expect(inShort(partsOf(...text.split("")))).toEqual([text]);
  });

  it("does not hide the call that follows it", () => {
    const call = invoke("list_tasks");
    expect(inShort(partsOf(`<tool_use> is a tag: ${call}`))).toEqual(["<tool_use> is a tag: ", { list_tasks: {} }]);
    expect(inShort(partsOf(`<tool_use>${call}`))).toEqual(["<tool_use>", { list_tasks: {} }]);
    expect(inShort(partsOf(`\`\`\`\ncode\n\`\`\`\n${call}`))).toEqual(["```\ncode\n```\n", { list_tasks: {} }]);
    expect(inShort(partsOf(`It's a stray \` here.\n${call}`))).toEqual(["It's a stray ` here.\n", { list_tasks: {} }]);
    expect(inShort(partsOf(`\`\`\`inline\`\`\`\n${call}`))).toEqual(["```inline```\n", { list_tasks: {} }]);
  });
});

describe("calls that are broken", () => {
  it.each<[string, string, unknown[]]>([
    ["no end of the call", `<tool_use><invoke name="read_file"></tool_use> on`, [{ malformed: "read_file" }, "on"]],
    ["words in the call", '<tool_use><invoke name="a"> hm </invoke></tool_use> on', [{ malformed: "a" }, "on"]],
    ["words in grammar B", "<read_file><path>a</path> hm </read_file> on", [{ malformed: "read_file" }, "on"]],
    [
      "the next call is read",
      `<read_file><path>a</path>!</read_file>${invoke("list_tasks")}`,
      [{ malformed: "read_file" }, { list_tasks: {} }],
    ],
    ["the reply ends in a value", '<tool_use><invoke name="a"><parameter name="b">c', [{ unclosed: "a" }]],
    ["the reply ends in a tag", '<tool_use><invoke name="a"><parameter na', [{ unclosed: "a" }]],
    ["the reply ends before the end of the call", '<tool_use><invoke name="a"> ', [{ unclosed: "a" }]],
    ["the reply ends in JSON", '{"tool":"read_file","arguments":{"path":"a"}', [{ unclosed: "read_file" }]],
    ["JSON that is none", '{"tool":"read_file","arguments":[1]} on', [{ malformed: "read_file" }, "on"]],
    [
      "JSON too deep",
      `{"tool":"read_file","arguments":${"[".repeat(99)}${"]".repeat(99)}} on`,
      [{ malformed: "read_file" }, "on"],
    ],
    ["the reply ends in DeepSeek's JSON", `<｜tool▁call▁begin｜>time<｜tool▁sep｜>{"a`, [{ unclosed: "time" }]],
    ["the reply ends before DeepSeek's JSON", "<｜tool▁call▁begin｜>time<｜tool▁sep｜>", [{ unclosed: "time" }]],
    ["words for DeepSeek's JSON", `${deepseek.short("time", "now")} on`, [{ malformed: "time" }, "on"]],
    ["a list for Mistral's arguments", '[TOOL_CALLS][{"name": "a", "arguments": [1]}] on', [{ malformed: "a" }, "on"]],
    ["the reply ends in Mistral's arguments", '[TOOL_CALLS]time[ARGS]{"a": {}', [{ unclosed: "time" }]],
    [
      "GLM's pairs without a value",
      "<tool_call>read_file<arg_key>path</arg_key></tool_call>",
      [{ malformed: "read_file" }],
    ],
  ])("are reported, never run, and the reply goes on: %s", (_, text, expected) => {
    expect(inShort(partsOf(text))).toEqual(expected);
    expect(inShort(partsOf(...text.split("")))).toEqual(expected);
  });

  it("say what was expected and how the call began", () => {
    const parts = partsOf('<tool_use><invoke name="read_file">path</invoke></tool_use>');
    expect(parts.at(-1)).toEqual({
      kind: "problem",
      problem: {
        kind: "malformed",
        name: "read_file",
        message: 'Expected <parameter name="…">value</parameter> or </invoke>.',
        written: '<invoke name="read_file">',
      },
    });
  });

  it("are let go at 1 MB (XML-05), and what follows is read", () => {
    expect(maxCallLength).toBe(1024 * 1024);
    const parser = createTextCallParser(toolNames);
    const found = parser.push(invoke("write_file", { content: "x" }).split("x")[0] ?? "");
    for (let written = 0; written <= maxCallLength; written += 65_536) found.push(...parser.push("x".repeat(65_536)));
    expect(inShort(found)).toEqual([{ too_large: "write_file" }]);
    for (let more = 0; more < 50; more += 1) expect(parser.push("x".repeat(65_536))).toEqual([]);
    const rest = [...parser.push("</parameter></invoke></tool_use>on"), ...parser.end()];
    expect(inShort(rest)).toEqual(["on"]);
  });
});

it("reports a call before it is whole, and gives it at once when it is (XML-03)", () => {
  const parser = createTextCallParser(toolNames);
  expect(parser.push("<tool_use><inv")).toEqual([]);
  expect(parser.push('oke name="read_file">')).toEqual([
    { kind: "use", use: { type: "tool_use", name: "read_file", params: {}, partial: true } },
  ]);
  expect(parser.push('<parameter name="path">a</parameter>')).toEqual([]);
  expect(parser.push("</invoke>")).toEqual([
    { kind: "use", use: { type: "tool_use", name: "read_file", params: { path: "a" }, partial: false } },
  ]);
});

it("holds back only what may be the beginning of something else", () => {
  const parser = createTextCallParser(toolNames);
  expect(parser.push("Hello <b")).toEqual([{ kind: "text", text: "Hello <b" }]);
  expect(parser.push(" <tool")).toEqual([{ kind: "text", text: " " }]);
  expect(parser.push("bar>")).toEqual([{ kind: "text", text: "<toolbar>" }]);
});
