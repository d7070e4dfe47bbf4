import {
  HumanMessage,
  SystemMessage,
  ToolMessage,
  type AIMessageChunk,
  type BaseMessage,
} from "@langchain/core/messages";
import { concat } from "@langchain/core/utils/stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Language } from "@millrace/engine/language";
import { goal, type Action } from "@millrace/offline/actions";
import { parseRequests } from "@millrace/offline/parse";
import { OfflineModel } from "@millrace/offline/offline";
import { compress } from "../../src/prompts/templates/compress.ts";
import type { Template } from "../../src/prompts/template.ts";

const today = "2026-03-02";
const model = new OfflineModel(() => today);

/** Parameters of the tools, as the registry offers them. */
const parameters: Record<string, string[]> = {
  read_file: ["path", "offset", "limit"],
  write_file: ["path", "content"],
  delete_file: ["path"],
  list_files: ["path"],
  search_content: ["path", "regex", "file_pattern"],
  web_search: ["query"],
  move_file: ["source", "destination"],
  create_folder: ["path"],
  create_task: ["title", "area_id", "scheduled_date"],
  read_tasks: ["view_context"],
  update_task: ["task_id", "title", "completed"],
  create_schedule: ["task_id", "scheduled_date"],
  delete_task: ["task_id"],
  run_simulation: ["circuit", "configuration"],
};

function definitions(names: readonly string[]) {
  return names.map((name) => ({
    type: "function" as const,
    function: {
      name,
      description: name,
      parameters: {
        type: "object",
        properties: Object.fromEntries((parameters[name] ?? []).map((key) => [key, { type: "string" }])),
      },
    },
  }));
}

type Answer = string | { error: string };
type Tools = (name: string, args: Record<string, unknown>) => Answer;

interface Turn {
  calls: { name: string; args: Record<string, unknown> }[];
  rounds: number;
  text: string;
  messages: BaseMessage[];
}

/** A small loop: calls the model, runs the fake tools, until there is a text. */
async function turn(
  request: string | BaseMessage[],
  tools: Tools,
  offered = Object.keys(parameters),
  limit = 30,
): Promise<Turn> {
  const messages: BaseMessage[] = typeof request === "string" ? [new HumanMessage(request)] : [...request];
  const calls: Turn["calls"] = [];
  const bound = model.bindTools(definitions(offered));
  for (let rounds = 1; rounds <= limit; rounds += 1) {
    const reply = await bound.invoke(messages);
    messages.push(reply);
    if ((reply.tool_calls ?? []).length === 0) return { calls, rounds, text: reply.text, messages };
    for (const call of reply.tool_calls ?? []) {
      expect(offered).toContain(call.name);
      calls.push({ name: call.name, args: call.args });
      const answer = tools(call.name, call.args);
      messages.push(
        typeof answer === "string"
          ? new ToolMessage({ tool_call_id: call.id ?? "", name: call.name, content: answer })
          : new ToolMessage({ tool_call_id: call.id ?? "", name: call.name, content: answer.error, status: "error" }),
      );
    }
  }
  throw new Error(`no final text after ${limit} rounds`);
}

/** A workspace in memory behind the fake file tools. */
function workspace(files: Record<string, string>): Tools {
  const read = new Set<string>();
  return (name, args) => {
    const path = [args["path"], args["source"]].find((value) => typeof value === "string") ?? "";
    const missing = { error: `Error (not_found): There is no "${path}".` };
    switch (name) {
      case "list_files":
        return Object.keys(files).sort().join("\n");
      case "read_file":
        if (files[path] !== undefined) read.add(path);
        return files[path] ?? missing;
      case "write_file":
        if (files[path] !== undefined && !read.has(path)) {
          const problem = `"${path}" exists, and its present content was not read in this conversation.`;
          return { error: `Error (conflict): Not written: ${problem}` };
        }
        files[path] = String(args["content"]);
        return `Wrote ${path}.`;
      case "delete_file":
        if (files[path] === undefined) return missing;
        delete files[path];
        return `Deleted ${path}.`;
      case "move_file": {
        const content = files[path];
        if (content === undefined) return missing;
        delete files[path];
        files[String(args["destination"])] = content;
        return "Moved.";
      }
      default:
        return "ok";
    }
  };
}

const ok: Tools = () => "ok";

describe("single requests", () => {
  it.each<[string, string, Record<string, unknown>]>([
    ["list the files", "list_files", { path: "." }],
    ["What files are in the drafts folder?", "list_files", { path: "drafts" }],
    ["列出文件", "list_files", { path: "." }],
    ["list the files in documents", "list_files", { path: "documents" }],
    ["列出文件夹 drafts 里的文件", "list_files", { path: "drafts" }],
    ["Please read notes.md", "read_file", { path: "notes.md" }],
    ["what does docs/plan.md say?", "read_file", { path: "docs/plan.md" }],
    ["读取会议记录.md", "read_file", { path: "会议记录.md" }],
    ["notes.md 写了什么？", "read_file", { path: "notes.md" }],
    ["search for TODO in all files", "search_content", { path: ".", regex: "TODO" }],
    ["grep budget in the docs folder", "search_content", { path: "docs", regex: "budget" }],
    ['search for "a.b(c)"', "search_content", { path: ".", regex: "a\\.b\\(c\\)" }],
    ["搜索包含 预算 的文件", "search_content", { path: ".", regex: "预算" }],
    ["在 src 中搜索“tollOf”", "search_content", { path: "src", regex: "tollOf" }],
    ["把 offer.docx 的内容替换为“# 报价”", "write_file", { path: "offer.docx", content: "# 报价" }],
    ["把 a.txt 的内容更新成“二”", "write_file", { path: "a.txt", content: "二" }],
    ["create a.txt with hello", "write_file", { path: "a.txt", content: "hello" }],
    [
      'Create a file called hello.txt containing "Hello, world!"',
      "write_file",
      { path: "hello.txt", content: "Hello, world!" },
    ],
    [
      "make a new file notes/plan.md with this text:\n```\n# Plan\n- one\n```",
      "write_file",
      { path: "notes/plan.md", content: "# Plan\n- one" },
    ],
    [
      "create todo.txt with buy milk and delete old mails",
      "write_file",
      { path: "todo.txt", content: "buy milk and delete old mails" },
    ],
    ["write delete all to a.txt", "write_file", { path: "a.txt", content: "delete all" }],
    ["创建 a.txt，内容为 你好", "write_file", { path: "a.txt", content: "你好" }],
    ["创建一个名为 a.txt 的文件，内容为“你好，世界”", "write_file", { path: "a.txt", content: "你好，世界" }],
    ["把 hello 写入 a.txt", "write_file", { path: "a.txt", content: "hello" }],
    ["update a.txt with new text", "write_file", { path: "a.txt", content: "new text" }],
    ["更新 a.txt，内容为 新内容", "write_file", { path: "a.txt", content: "新内容" }],
    ["move a.txt to archive/a.txt", "move_file", { source: "a.txt", destination: "archive/a.txt" }],
    ["move a.txt into the archive folder", "move_file", { source: "a.txt", destination: "archive/a.txt" }],
    ["把 a.txt 移动到 archive 文件夹", "move_file", { source: "a.txt", destination: "archive/a.txt" }],
    ["rename docs/a.txt to b.txt", "move_file", { source: "docs/a.txt", destination: "docs/b.txt" }],
    ["将 a.txt 重命名为 b.txt", "move_file", { source: "a.txt", destination: "b.txt" }],
    ["delete the drafts folder", "delete_file", { path: "drafts" }],
    ["Delete the folder old_stuff and everything in it", "delete_file", { path: "old_stuff" }],
    ["删除文件夹“旧 资料”", "delete_file", { path: "旧 资料" }],
    ["create a folder called my-notes", "create_folder", { path: "my-notes" }],
    ["新建文件夹 草稿", "create_folder", { path: "草稿" }],
    ["create a task to buy milk for tomorrow", "create_task", { title: "buy milk", scheduled_date: "2026-03-03" }],
    ["创建任务 买牛奶", "create_task", { title: "买牛奶" }],
    ["show my tasks for today", "read_tasks", { view_context: "daily::2026-03-02" }],
    ["查看任务", "read_tasks", { view_context: "staging" }],
    ["Simulate amp.cir", "run_simulation", { circuit: "amp.cir" }],
    ["仿真 amp.cir", "run_simulation", { circuit: "amp.cir" }],
  ])("%s → %s", async (request, name, args) => {
    const done = await turn(request, ok);
    expect(done.calls).toEqual([{ name, args }]);
    expect(done.text).not.toBe("");
    expect(/\p{Script=Han}/u.test(done.text)).toBe(/\p{Script=Han}/u.test(request.replaceAll(/[“"].*?[”"]/gu, "")));
  });
});

it.each([
  ["list the files", ".", "The workspace is empty."],
  ["list the files in notes", "notes", "notes is empty."],
  ["列出文件", ".", "工作区是空的。"],
])("says of an empty folder only that it is: %s", async (request, path, expected) => {
  const done = await turn(request, () => `${path === "." ? "The workspace" : path} is empty.`);
  expect(done.text).toBe(expected);
});

describe("requests of several steps", () => {
  it("reads a file and writes a summary of it", async () => {
    const files: Record<string, string> = {
      "notes.md": "# Trip\n\nWe leave on Monday. Bring boots.\n\n## Food\nBread and tea.\n",
    };
    const done = await turn("Read notes.md and write a summary to summary.md", workspace(files));
    expect(done.calls.map((call) => call.name)).toEqual(["read_file", "write_file"]);
    expect(files["summary.md"]).toContain("Trip, Food");
    expect(files["summary.md"]).toContain("We leave on Monday.");
    expect(done.text).toContain("summary.md");
  });

  it("does the same in Chinese", async () => {
    const files: Record<string, string> = { "notes.md": "# 旅行\n\n我们周一出发。带上靴子。\n" };
    const done = await turn("读取 notes.md，然后把总结写入 summary.md", workspace(files));
    expect(files["summary.md"]).toContain("我们周一出发。");
    expect(done.text).toMatch(/摘要写入 summary\.md/u);
  });

  it("summarises nothing that it cannot read whole, and says so", async () => {
    const tools: Tools = (name) =>
      name === "read_file" ? "[a.txt: lines 1-1 of 1; line 1 is longer than shown]\nxx\n" : "ok";
    const done = await turn("write a summary of a.txt to b.txt", tools);
    expect(done.calls.map((call) => call.name)).toEqual(["read_file"]);
    expect(done.text).toContain("too long");
  });

  it("follows several requests in their order and lets later words speak of earlier things", async () => {
    const files: Record<string, string> = { "notes.md": "x" };
    const done = await turn("Read notes.md, then rename it to old.md and list the files.", workspace(files));
    expect(done.calls.map((call) => call.name)).toEqual(["read_file", "move_file", "list_files"]);
    expect(files).toEqual({ "old.md": "x" });
    expect(done.text).toContain("old.md");
  });

  it("reads at once what a summary needs, and does the rest one after the other", async () => {
    const files: Record<string, string> = { "a.md": "One.", "b.md": "Two." };
    const reads = await turn("summarize a.md and b.md", workspace(files));
    expect([reads.calls.length, reads.rounds]).toEqual([2, 2]);
    const ordered = await turn("create c.txt with hello and delete b.md", workspace(files));
    expect([ordered.calls.map((call) => call.name), ordered.rounds]).toEqual([["write_file", "delete_file"], 3]);
  });

  it("counts the lines as read_file does, and takes sentences whole, over a formula, and no tables", async () => {
    const text = "# Offer\n\nSo it has\n\n$P=1 kW$\n\nat most.\n\n| Part | Price |\n| --- | --- |\n\nWe build.\n";
    const header = "[offer.docx: the text of a Word document]\n";
    const done = await turn("summarize offer.docx", () => header + text);
    expect(done.text).toBe(
      "Summary of offer.docx (12 lines, 15 words):\nSections: Offer.\n- So it has $P=1 kW$ at most.\n- We build.",
    );
    const read = await turn("read offer.docx", () => header + text);
    expect(read.text).toBe(`offer.docx says:\n${text}`);
  });

  it("quotes no English result where the user speaks Chinese", async () => {
    const simulation = "Simulated a.cir: .op.\nFigures: power 1 mW.\nResult: a_sim.json";
    const done = await turn("仿真 a.cir", () => simulation);
    expect(done.text).toBe("a.cir 的仿真结果：\n分析：.op。\n指标：power 1 mW。\n结果文件：a_sim.json");
    const read = await turn("读取 a.pdf", () => "[a.pdf: the text of a PDF]\n## Page 1\n\n发票\n");
    expect(read.text).toBe("a.pdf 的内容：\n## 第 1 页\n\n发票\n");
    const failed = await turn("读取 a.pdf", () => ({ error: "Error (invalid_format): There is no text." }));
    expect(failed.text).toBe("无法读取 a.pdf：原因见工具的结果。");
  });

  it("finds a task by its title before it changes it", async () => {
    const id = "0198c0de-0000-7000-8000-000000000001";
    const tools: Tools = (name, args) => {
      if (name !== "read_tasks") return "ok";
      return args["view_context"] === "staging"
        ? "No tasks in staging."
        : `1 task found.\n[ ] buy milk (2026-03-02; id ${id})`;
    };
    const done = await turn("complete task “buy milk”", tools);
    expect(done.calls.at(-1)).toEqual({ name: "update_task", args: { task_id: id, completed: true } });
    const lost = await turn("delete task “walk”", tools);
    expect(lost.calls.map((call) => call.name)).toEqual(["read_tasks", "read_tasks"]);
    expect(lost.text).toContain("no such task");
  });
});

describe("failures", () => {
  it("leaves alone what is there when it was asked to create it", async () => {
    const files: Record<string, string> = { "a.txt": "old" };
    const done = await turn("create a.txt with new", workspace(files));
    expect(files["a.txt"]).toBe("old");
    expect(done.text).toMatch(/could not create a\.txt: .*exists/u);
  });

  it.each(["write new to a.txt", "update a.txt with new"])(
    "reads a file before it replaces it: %s",
    async (request) => {
      const files: Record<string, string> = { "a.txt": "old" };
      const done = await turn(request, workspace(files));
      expect(done.calls.map((call) => call.name)).toEqual(["write_file", "read_file", "write_file"]);
      expect(files["a.txt"]).toBe("new");
      expect(done.text).toBe("I wrote a.txt.");
    },
  );

  it("makes nothing of a file it could not read", async () => {
    const done = await turn("read notes.md and write a summary to summary.md", workspace({}));
    expect(done.calls.map((call) => call.name)).toEqual(["read_file"]);
    expect(done.text).toContain('There is no "notes.md"');
  });

  it.each([
    ["delete the drafts folder", "not approved"],
    ["删除 drafts 文件夹", "未获批准"],
  ])("reports a refusal truthfully: %s", async (request, words) => {
    const done = await turn(request, () => ({ error: "Error (denied): The user refused this call. Acknowledge it." }));
    expect(done.calls).toHaveLength(1);
    expect(done.text).toContain(words);
  });

  it("goes on with the next request when one fails", async () => {
    const done = await turn("delete a.txt and then list the files", workspace({ "b.txt": "" }));
    expect(done.calls.map((call) => call.name)).toEqual(["delete_file", "list_files"]);
    expect(done.text).toContain("could not delete a.txt");
    expect(done.text).toContain("b.txt");
  });

  it("says once that a file cannot be read, and why", async () => {
    const error = 'Error (invalid_format): "a.pdf" cannot be read. There is no text in it. Ask the user for another.';
    expect((await turn("read a.pdf", () => ({ error }))).text).toBe("I could not read a.pdf: There is no text in it.");
    const alone = 'Error (invalid_format): "a.pdf" cannot be read.';
    expect((await turn("read a.pdf", () => ({ error: alone }))).text).toContain("cannot be read");
  });

  it("says which tool is missing", async () => {
    const done = await turn("delete a.txt", ok, ["read_file"]);
    expect(done.calls).toEqual([]);
    expect(done.text).toContain("delete_file");
  });
});

describe("talk", () => {
  it.each([
    ["Who are you?", /rule-based stand-in/u],
    ["你是谁？", /基于规则的替身/u],
    ["hello", /Hello/u],
    ["谢谢", /不客气/u],
    ["Why is the sky blue?", /MILLRACE_MODEL=openai:/u],
    ["天空为什么是蓝色的？", /MILLRACE_MODEL=openai:/u],
  ])("%s", async (request, words) => {
    const done = await turn(request, ok);
    expect(done.calls).toEqual([]);
    expect(done.text).toMatch(words);
  });

  it("does not pick requests out of a message that is too long for its rules", async () => {
    const done = await turn(`delete a.txt ${"and so on ".repeat(2000)}`, ok);
    expect(done.calls).toEqual([]);
    expect(done.text).toContain("rule-based stand-in");
  });

  it("looks only at the present request, not at earlier turns", async () => {
    const first = await turn("delete a.txt", ok);
    const next = await turn([...first.messages, new HumanMessage("thanks")], ok);
    expect(next.calls).toEqual([]);
    expect(next.text).toBe("You are welcome.");
  });
});

describe("the workflow's prompts", () => {
  const ask = async ({ content }: Template, ...messages: BaseMessage[]): Promise<string> =>
    (await model.invoke([new SystemMessage(`identity\n\n${content}`), ...messages])).text;

  it("answers a closing note from what is known", async () => {
    const first = await turn("list the files", ok);
    const note = new HumanMessage("No further tool call is possible: the limit of rounds for this turn is reached.");
    const reply = await model.bindTools(definitions(["list_files"])).invoke([...first.messages.slice(0, -1), note]);
    expect(reply.tool_calls).toEqual([]);
    expect(reply.text).toContain("The workspace contains:");
  });

  it("summarises a conversation within its length", async () => {
    const history = await turn("delete a.txt and then create b.txt with hello", workspace({}));
    const long = Array.from({ length: 60 }, (_, index) => new HumanMessage(`please consider point number ${index}`));
    const text = await ask(compress, ...history.messages, ...long);
    expect(text.length).toBeLessThanOrEqual(1000);
    const summary = JSON.parse(text);
    expect(summary.goal).toContain("delete a.txt");
    expect(Object.keys(summary)).toEqual([
      "goal",
      "completed",
      "todo",
      "attempted_solutions",
      "current_problem",
      "key_decisions",
    ]);
  });
});

describe("the model as a client", () => {
  it("streams word by word what it answers as a whole, with one id and the usage at the end", async () => {
    const chunks: AIMessageChunk[] = [];
    for await (const chunk of await model.stream("who are you?")) chunks.push(chunk);
    const sum = chunks.reduce((left, right) => concat(left, right));
    expect(chunks.length).toBeGreaterThan(10);
    expect(new Set(chunks.map((chunk) => chunk.id)).size).toBe(1);
    expect(sum.text).toBe((await model.invoke("who are you?")).text);
    expect(sum).toMatchObject({
      usage_metadata: { output_tokens: expect.any(Number), input_tokens: expect.any(Number) },
    });
    expect(chunks.slice(0, -1).every((chunk) => chunk.usage_metadata === undefined)).toBe(true);
  });

  it("streams tool calls that add up to the same calls", async () => {
    const chunks: AIMessageChunk[] = [];
    for await (const chunk of await model.bindTools(definitions(["read_file"])).stream("summarize a.md and b.md"))
      chunks.push(chunk);
    const sum = chunks.reduce((left, right) => concat(left, right));
    expect(sum.tool_calls?.map((call) => call.args)).toEqual([{ path: "a.md" }, { path: "b.md" }]);
  });

  it("calls the tool it has to call", async () => {
    const bound = model.bindTools(definitions(["web_search"]), { tool_choice: "web_search" });
    const reply = await bound.invoke("quarterly figures");
    expect(reply.tool_calls?.map((call) => [call.name, call.args])).toEqual([
      ["web_search", { query: "quarterly figures" }],
    ]);
  });

  it("stops with its signal", async () => {
    const stop = new AbortController();
    const read = async (): Promise<void> => {
      for await (const _ of await model.stream("who are you?", { signal: stop.signal })) stop.abort();
    };
    await expect(read()).rejects.toThrow(/abort/iu);
  });
});

const name = fc.stringMatching(/^[a-z]{1,6}$/u);
const path = fc
  .tuple(fc.array(name, { maxLength: 2 }), name, fc.constantFrom("md", "txt", "ts"))
  .map(([folders, file, ending]) => [...folders, `${file}.${ending}`].join("/"));
const content = fc
  .string({ minLength: 1, maxLength: 30 })
  .map((text) => text.replaceAll(/[\uE000\uE001「」`]/gu, "").trim() || "x");
const title = fc.stringMatching(/^[a-z]{1,5}( [a-z]{1,5}){0,2}$/u);
/** "search for all" and the like name nothing that could be looked for. */
const query = title.filter((text) => !/^(?:all|files?|it|out)$/u.test(text));
const date = fc.constant("2026-04-05");
const action: fc.Arbitrary<Action> = fc.oneof(
  fc.record({ kind: fc.constantFrom("read", "delete"), path }),
  fc.record({ kind: fc.constantFrom("create", "write"), path, content }),
  fc.record({ kind: fc.constant("move"), source: path, destination: path }),
  // A folder "a" or "the" would be taken for an article.
  fc.record({ kind: fc.constant("create_folder"), path: name.map((value) => `${value}-2`) }),
  fc.record({ kind: fc.constant("list"), path: fc.constantFrom(".", "drafts/") }).map(({ kind, path: folder }) => ({
    kind,
    path: folder.replace(/\/$/u, ""),
  })),
  fc.record({ kind: fc.constant("summarize"), paths: fc.array(path, { minLength: 1, maxLength: 2 }) }),
  fc.record({ kind: fc.constant("summarize"), paths: fc.array(path, { minLength: 1, maxLength: 2 }), into: path }),
  fc.record({ kind: fc.constant("search"), path: fc.constant("."), query }),
  fc.record({ kind: fc.constant("create_task"), title }),
  fc.record({ kind: fc.constant("read_tasks"), view_context: fc.constant("staging") }),
  fc.record({ kind: fc.constantFrom("complete_task", "delete_task"), task: title }),
  fc.record({ kind: fc.constant("schedule_task"), task: title, date }),
  fc.record({ kind: fc.constant("simulate"), circuit: path }),
);

/** What a person would say for an action. */
function inWords(wanted: Action, language: Language): string {
  const words = goal(wanted, language);
  if (wanted.kind === "list" && wanted.path !== ".") return `${words}/`;
  if (!("content" in wanted)) return words;
  return language === "en" ? `${words} with 「${wanted.content}」` : `${words}，内容为「${wanted.content}」`;
}

describe("for any request", () => {
  it("understands its own words for an action as the same action, in both languages", () => {
    fc.assert(
      fc.property(action, fc.constantFrom<"en" | "zh">("en", "zh"), (wanted, language) => {
        fc.pre(wanted.kind !== "move" || wanted.source !== wanted.destination);
        fc.pre(wanted.kind !== "summarize" || wanted.into === undefined || !wanted.paths.includes(wanted.into));
        expect(parseRequests(inWords(wanted, language), today)).toEqual([wanted]);
      }),
      { numRuns: 500 },
    );
  });

  it("calls only offered tools and ends with a text within 30 rounds, whatever the tools answer", async () => {
    const answers = fc.constantFrom<Answer>(
      "ok",
      "",
      { error: "Error (not_found): no such file" },
      { error: "Error (conflict): exists already" },
      { error: "Error (denied): The user refused this call." },
    );
    const request = fc.oneof(
      fc.string(),
      fc
        .array(fc.tuple(action, fc.constantFrom<"en" | "zh">("en", "zh")), { minLength: 1, maxLength: 8 })
        .map((list) => list.map(([one, language]) => inWords(one, language)).join(", then ")),
    );
    await fc.assert(
      fc.asyncProperty(
        request,
        fc.infiniteStream(answers),
        fc.subarray(Object.keys(parameters)),
        async (text, stream, offered) => {
          const done = await turn(text, () => stream.next().value ?? "ok", offered);
          expect(done.text).not.toBe("");
        },
      ),
      { numRuns: 150 },
    );
  });
});
