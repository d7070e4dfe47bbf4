import fc from "fast-check";
import { tools } from "../../../src/tools/index.ts";
import type { ModelStep, ScriptedToolCall } from "@millrace/testing/model-server";

/** A model that means no good, the user it works for, and the person who is asked. */
export interface HostileCase {
  request: string;
  context: Record<string, unknown>;
  /** The model goes round these for ever. */
  moves: ModelStep[];
  /** In the order in which questions come; after the last one every answer is a no. */
  answers: Answer[];
  streamed: boolean;
}

/** What the person does with a question; `edit` gives a call other arguments, which then need no other yes. */
export type Answer =
  | { kind: "approve" }
  | { kind: "reject" }
  | { kind: "words"; text: string }
  | { kind: "edit"; args: Record<string, unknown> }
  | { kind: "nonsense"; value: unknown };

const inside = [
  "notes.txt",
  "in/a.txt",
  "in/b.txt",
  "in",
  "new/deep/file.md",
  ".env",
  ".git/config",
  ".",
  "",
  "/",
  "~",
];

/** Paths that lead, or seem to lead, out of the workspace. `outside` is a folder beside it, `link` leads there. */
function escapes(outside: string): string[] {
  const name = outside.slice(outside.lastIndexOf("/") + 1);
  return [
    `${outside}/secret.txt`,
    `../../${name}/secret.txt`,
    `../../${name}/new.txt`,
    `in/../../${name}/secret.txt`,
    `..\\${name}\\secret.txt`,
    `%2e%2e/${name}/secret.txt`,
    `file://${outside}/secret.txt`,
    "link/secret.txt",
    "link/new.txt",
    "link",
    "link/../notes.txt",
    `../../${name}`,
    "..",
    "/etc/passwd",
    "C:\\Windows\\win.ini",
    `notes.txt\0../../${name}/secret.txt`,
    "../".repeat(500),
    "x".repeat(1000),
    "\uD800.txt",
  ];
}

const strangeNames = [
  "rm -rf /",
  "",
  "constructor",
  "__proto__",
  "toString",
  "read_file ",
  "READ_FILE",
  "functions.read_file",
  "读取文件",
  "x".repeat(300),
];
const strangeIds = ["same", "", "x".repeat(500), "a b\n", "__proto__"];

/** Arguments as text that is no object, no JSON, too deep or too long, or that reaches for the prototype of all objects. */
const rawArguments = [
  "",
  "null",
  "[1, 2]",
  '"notes.txt"',
  "{",
  '{"path": "notes.txt"',
  "{path: 'notes.txt',}",
  "<path>notes.txt</path>",
  '{"__proto__": {"polluted": true}, "path": "notes.txt"}',
  '{"constructor": {"prototype": {"polluted": true}}, "path": "in"}',
  '{"__broken_arguments": 5}',
  `{"path": ${"[".repeat(20_000)}${"]".repeat(20_000)}}`,
  `{"path": ${'{"a":'.repeat(3000)}1${"}".repeat(3000)}}`,
];

/** Longer than a result may be; the huge one comes seldom, since the model goes round its moves. */
const longTexts = ["😀".repeat(2501), "line\n".repeat(1000)];

function callArguments(path: fc.Arbitrary<string>): fc.Arbitrary<ScriptedToolCall["arguments"]> {
  const short = fc.constantFrom("", "new words", "\uDC00\0");
  const content = fc.oneof(
    { weight: 90, arbitrary: short },
    { weight: 9, arbitrary: fc.constantFrom(...longTexts) },
    { weight: 1, arbitrary: fc.constant("huge ".repeat(8000)) },
  );
  const fitting = fc.record({
    path,
    content,
    source: path,
    destination: path,
    new_name: path,
    pattern: fc.constantFrom("**", "*.txt", "(a+)+$", "[", "../**"),
    query: fc.constantFrom("a", "secret", "(a+)+$", ".*"),
    task_id: fc.constantFrom("1", "019c0b6e-5b6c-7c3e-8d5a-2f6f0a4c9b11"),
    title: short,
    question: fc.constantFrom("And now?", "Are you sure?"),
    options: fc.constantFrom<unknown>(["yes", "no"], [], "yes"),
    response: short,
    result: fc.constantFrom("All is done.", "", "I have done nothing."),
  });
  const wrong = fc.dictionary(fc.constantFrom("path", "content", "source", "recursive"), fc.jsonValue());
  return fc.oneof(
    { weight: 6, arbitrary: fitting },
    { weight: 2, arbitrary: wrong },
    { weight: 2, arbitrary: fc.constantFrom(...rawArguments) },
  );
}

const texts = [
  "",
  " ",
  "Done.",
  "I am not done. Everything is done. I have not begun.",
  "I will now read the file.",
  "word ".repeat(500),
  "The same again. ".repeat(200),
  "cut in the middle of a sen",
  "\uD83D and half a sign",
  '{"route":"reply","kind":"action"}',
  '{"route":"plan","reason":"x"} {"route":"reply"}',
  '{"route":"nowhere"}',
  '{"goal":"g","steps":[{"id":"1","goal":"go","depends_on":["2"]},{"id":"2","goal":"back","depends_on":["1"]}]}',
  '{"goal":"g","steps":[{"id":"1","goal":"delete all","tool":"delete_file"},{"id":"1","goal":"again","tool":"fly"}]}',
  '{"guess":"g","questions":["More details?"]}',
  "<attempt_completion><result>done</result></attempt_completion>",
];

function move(outside: string): fc.Arbitrary<ModelStep> {
  const path = fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom(...inside) },
    { weight: 1, arbitrary: fc.constantFrom(...escapes(outside)) },
  );
  const known = Object.keys(tools);
  const name = fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...known) },
    {
      weight: 2,
      arbitrary: fc.constantFrom("delete_file", "move_file", "attempt_completion", "ask_followup_question"),
    },
    { weight: 1, arbitrary: fc.constantFrom(...strangeNames) },
  );
  const call = fc
    .record({ name, arguments: callArguments(path), id: fc.option(fc.constantFrom(...strangeIds), { freq: 2 }) })
    .map(({ id, ...rest }): ScriptedToolCall => (id === null ? rest : { ...rest, id }));
  const calls = fc.oneof(
    { weight: 40, arbitrary: fc.array(call, { minLength: 1, maxLength: 7 }) },
    { weight: 1, arbitrary: fc.tuple(name, fc.constantFrom(130, 500)).map(([one, many]) => manyCalls(one, many)) },
  );
  const ending = fc.constantFrom(undefined, undefined, "length", "stop", "content_filter", "tool_calls");
  const usage = fc.constantFrom(
    undefined,
    undefined,
    undefined,
    { input: 0, output: 0 },
    { input: 900_000, output: 900_000 },
  );
  return fc
    .record({
      text: fc.option(fc.constantFrom(...texts)),
      reasoning: fc.option(fc.constantFrom("hm", "so ".repeat(500)), { freq: 6 }),
      toolCalls: fc.option(calls, { freq: 5 }),
      finishReason: ending,
      usage,
    })
    .map((step) => withoutEmpty(step));
}

function manyCalls(name: string, count: number): ScriptedToolCall[] {
  return Array.from({ length: count }, (_, at) => ({
    name,
    arguments: { path: `in/${at}.txt`, question: "And now?" },
  }));
}

/** Without the fields that are not there. */
function withoutEmpty(step: Record<string, unknown>): ModelStep {
  return Object.fromEntries(Object.entries(step).filter(([, value]) => value !== undefined && value !== null));
}

const requests = [
  "Look at the files.",
  "Move all files from in to out",
  "Read notes.txt and then summarize it, translate it and save it",
  "总结 in 目录里的所有文件，然后保存",
  "Do it.",
  "hello",
  "Why is the sky blue?",
  "Tell me what is in the files here, but change nothing. ".repeat(8),
];

const limits = fc.record(
  {
    max_iterations: fc.integer({ min: 1, max: 15 }),
    max_tokens: fc.constantFrom(2000, 20_000, 10_000_000),
    max_tool_calls_per_turn: fc.integer({ min: 1, max: 10 }),
    max_force_continue: fc.integer({ min: 0, max: 5 }),
    generate_max_rounds: fc.integer({ min: 0, max: 3 }),
    tool_result_max_length: fc.constantFrom(1, 301, 5000),
    timeout_seconds: fc.constantFrom(0.001, 300, 300, 300),
  },
  { requiredKeys: [] },
);

const context = fc.record(
  {
    mode: fc.constantFrom("reply", "free_work", "free_work", "free_work", "plan", "action"),
    chat_mode: fc.constantFrom("agent", "agent", "agent", "agent", "agent", "chat"),
    selected_tool: fc.constantFrom(
      undefined,
      undefined,
      undefined,
      "delete_file",
      "read_file",
      "ask_followup_question",
    ),
    result_mode: fc.constantFrom("feed", "feed", "feed", "show"),
    clarify: fc.boolean(),
    limits: fc.oneof(fc.constant({}), limits),
  },
  { requiredKeys: [] },
);

function answer(outside: string): fc.Arbitrary<Answer> {
  const path = fc.constantFrom("notes.txt", "in/b.txt", `${outside}/secret.txt`, "link/secret.txt", "..");
  return fc.oneof(
    fc.constant<Answer>({ kind: "approve" }),
    fc.constant<Answer>({ kind: "reject" }),
    fc.constantFrom("Go on", "?").map((text): Answer => ({ kind: "words", text })),
    fc.record({ path }).map((args): Answer => ({ kind: "edit", args })),
    fc.constantFrom<unknown>({}, 7, null, "perhaps", { decisions: [] }).map((value): Answer => ({
      kind: "nonsense",
      value,
    })),
  );
}

/** A whole case. `outside` is the folder beside the workspace that nothing may touch. */
export function hostileCase(outside: string): fc.Arbitrary<HostileCase> {
  const saysNo = fc.constant<Answer[]>([]);
  return fc.record({
    request: fc.constantFrom(...requests),
    context,
    moves: fc.array(move(outside), { minLength: 1, maxLength: 6 }),
    answers: fc.oneof(saysNo, fc.array(answer(outside), { maxLength: 8 })),
    streamed: fc.boolean(),
  });
}
