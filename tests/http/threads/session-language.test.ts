import { copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { loadConfig } from "@millrace/engine/config/config";
import { startModelServer, type ModelServer, type ModelStep } from "@millrace/testing/model-server";
import { hasToolkit, projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let model: ModelServer;
let server: TestServer;
beforeAll(async () => {
  model = await startModelServer({ script: [] });
  server = await startTestServer({
    graphs: join(projectFolder, "langgraph.json"),
    toolkits: loadConfig({ MILLRACE_TOOLKITS: "default,shell" }).toolkits,
    model: "openai:scripted",
    openai: { apiKey: "test-key", baseUrl: model.url },
  });
});
afterAll(async () => {
  await server.remove();
  await model.close();
});

const call = (name: string, args: Record<string, unknown>): ModelStep => ({ toolCalls: [{ name, arguments: args }] });
const english = { "accept-language": "en-US" };
const chinese = { "accept-language": "zh-CN" };

/** One streamed turn of a new thread: its events, and what can be read of the thread afterwards. */
async function turn(words: string, steps: ModelStep[], context: object = {}, headers: Record<string, string> = {}) {
  const { thread_id } = await server.client.threads.create();
  model.push(...steps);
  const body = {
    assistant_id: "agent",
    input: { messages: [{ role: "user", content: words }] },
    context,
    stream_mode: ["updates", "custom"],
  };
  const streamed = await server.send("POST", `/threads/${thread_id}/runs/stream`, body, headers);
  const events = await streamed.text();
  const read = async (path: string, asked = {}): Promise<string> =>
    await (await server.send("GET", `/threads/${thread_id}${path}`, undefined, asked)).text();
  return {
    events,
    read,
    previews: [...events.matchAll(/"result_preview":"((?:[^"\\]|\\.)*)"/gu)].map(
      ([, text]) => JSON.parse(`"${text}"`) as unknown,
    ),
  };
}

const Questions = z.array(z.looseObject({ question: z.string() }));
const questionIn = (text: string): string | undefined => Questions.parse(JSON.parse(text))[0]?.question;

describe("a question", () => {
  const steps = (path: string): ModelStep[] => [
    call("write_file", { path, content: "x" }),
    call("delete_file", { path }),
  ];

  it("is in Chinese if the user writes Chinese, on every route", async () => {
    const { events, read } = await turn("看看工作区", steps("a.txt"));
    for (const answer of [events, await read("/state"), await read("")]) {
      expect(answer).toContain('"question":"要删除文件 a.txt 吗？"');
      expect(answer).toContain('"description":"要删除文件 a.txt 吗？"');
      expect(answer).not.toContain("Delete the file");
    }
    expect(questionIn(await read("/approvals"))).toBe("要删除文件 a.txt 吗？");
    expect(questionIn(await read("/approvals", english))).toBe("Delete the file a.txt?");
  });

  it("is in English if the user writes English, and in the language of a request's header", async () => {
    const { events, read } = await turn("Look at the workspace", steps("b.txt"));
    expect(events).toContain('"question":"Delete the file b.txt?"');
    expect(questionIn(await read("/approvals"))).toBe("Delete the file b.txt?");
    expect(questionIn(await read("/approvals", chinese))).toBe("要删除文件 b.txt 吗？");
  });

  it("about a further tool, about many moves and about a failure is in Chinese, too", async () => {
    const chain = await turn(
      "看看工作区",
      [call("list_files", { path: "." }), call("search_files", { query: "zzz" })],
      { tool_policy: "guarded" },
    );
    expect(chain.events).toContain("本轮已执行过一个工具。回复“确认”即可继续执行 search_files");
    const many = Array.from({ length: 11 }, (_, at) => `many/${at}.txt`);
    const toolCalls = many.map((path) => ({
      name: "move_file",
      arguments: { source: path, destination: `${path}.old.txt` },
    }));
    const made = many.map((path) => ({ name: "write_file", arguments: { path, content: "x" } }));
    const moved = await turn("看看工作区", [{ toolCalls: made }, { toolCalls }]);
    expect(moved.events).toContain('"question":"要一次处理 11 项吗？"');
    const failed = await turn("你好吗", [{ fault: { kind: "status", status: 401 } }], { on_error: "ask" });
    expect(failed.events).toMatch(/"question":"[^"]*密钥/u);
  });
});

describe("the result of a call", () => {
  it.runIf(hasToolkit("planner"))("is in Chinese from the planner, while the model reads English", async () => {
    const planner = await turn("创建任务：买牛奶", [call("create_task", { title: "买牛奶" }), { text: "好了。" }]);
    expect(planner.previews).toEqual(["任务「买牛奶」已创建。"]);
    expect(planner.events).toContain("Task created: [ ] 买牛奶");
    const tasks = await turn("Create a task: milk", [call("create_task", { title: "milk" }), { text: "Done." }]);
    expect(tasks.previews).toEqual(['Task created: "milk".']);
  });

  it.runIf(hasToolkit("circuits"))("is in Chinese from the circuits", async () => {
    const circuit = await turn("仿真电路 r.cir", [
      call("rewrite_file", { path: "r.cir", content: "* t\nV1 a 0 1\nR1 a 0 1k\n.op\n.end\n" }),
      call("run_simulation", { circuit: "r.cir" }),
      { text: "好了。" },
    ]);
    expect(circuit.previews).toEqual(["已写入 r.cir（5 行）。", "已仿真 r.cir。"]);
  });

  it("is in Chinese from the tools for code, the shell, the memory and the list of steps", async () => {
    const context = { toolkits: ["files", "code", "shell", "memory", "conversation"] };
    const steps = [
      call("write_file", { path: "s.js", content: "function run() {}\n" }),
      call("list_code_definition_names", { path: "s.js" }),
      call("write_todos", { todos: [{ content: "改端口", status: "completed" }] }),
      call("manage_memory", { action: "save", content: "用户喜欢短句" }),
      call("manage_memory", { action: "search", query: "短句" }),
      call("background_commands", { action: "list" }),
      { text: "好了。" },
    ];
    expect((await turn("整理一下文件", steps, context)).previews).toEqual([
      "已写入 s.js（18 字节）。",
      "1 个文件中有 1 处定义。",
      "共 1 步，已完成 1 步。",
      "已记住：用户喜欢短句",
      "找到 1 条记忆。",
      "此对话没有后台命令。",
    ]);
  });

  it("is in Chinese from the tools for files, also for an error", async () => {
    const { previews, events } = await turn("整理一下文件", [
      call("write_file", { path: "c.txt", content: "一\n二\n" }),
      call("read_file", { path: "c.txt" }),
      call("edit_file", { path: "c.txt", edits: [{ old_string: "二", new_string: "三" }] }),
      call("move_file", { source: "c.txt", destination: "d.txt" }),
      call("read_file", { path: "nothing.txt" }),
      { text: "好了。" },
    ]);
    expect(previews).toEqual([
      "已写入 c.txt（8 字节）。",
      "已读取 c.txt（2 行）。",
      "已修改 c.txt（1 处）。",
      "已将 c.txt 移动到 d.txt。",
      expect.stringMatching(/^\P{ASCII}+$/u),
    ]);
    expect(events).toMatch(/"content":"Error \(not_found\): /u);
  });

  it("names in Chinese which file, edit or block failed, and why", async () => {
    await writeFile(join(server.config.workspace, "bytes.bin"), Buffer.from([0, 1, 2]));
    await writeFile(join(server.config.workspace, "old.txt"), Buffer.from([0xcb, 0xae, 0xb3, 0xb5, 0x0a]));
    await writeFile(join(server.config.workspace, "there.txt"), "二\n二\n");
    await copyFile(join(projectFolder, "samples/documents/scan.pdf"), join(server.config.workspace, "scan.pdf"));
    const edit = (old_string: string): ModelStep =>
      call("edit_file", { path: "there.txt", edits: [{ old_string, new_string: "三" }] });
    const context = { toolkits: ["files", "documents", "code"] };
    const { previews, events } = await turn(
      "整理一下文件",
      [
        call("read_file", { path: "scan.pdf" }),
        call("read_file", { path: "bytes.bin" }),
        call("read_file", { path: "old.txt" }),
        call("write_file", { path: "there.txt", content: "三\n" }),
        edit("四"),
        edit("二"),
        call("replace_in_file", {
          path: "there.txt",
          diff: "<<<<<<< SEARCH\n四\n=======\n三\n>>>>>>> REPLACE\n",
        }),
        { text: "好了。" },
      ],
      context,
    );
    expect(previews).toEqual([
      "“scan.pdf”无法读取：这一页没有文字，可能是扫描得到的图片。请使用带文字的版本，或先进行文字识别（OCR）。",
      "“bytes.bin”是二进制文件，或不是 UTF-8 编码的文本。",
      "已读取 old.txt（1 行，GB 18030 编码）。",
      "未写入：“there.txt”已存在，而它现在的内容在本次对话中尚未读取，或之后有了变化。",
      "第 1 处修改：文件中没有要替换的原文，未作任何更改。",
      "第 1 处修改：要替换的原文在文件中出现了 2 次，未作任何更改。",
      "第 1 块：文件中没有 SEARCH 的内容，未作任何更改。",
    ]);
    expect(events).toContain("There is no text in its page");
  });
});

it("a failed run has its reason in the user's language, or in that of the request", async () => {
  const fail: ModelStep[] = [{ fault: { kind: "status", status: 401 } }];
  expect((await turn("你好吗", fail)).events).toContain('"user_message":"未获授权');
  expect((await turn("你好吗", fail, {}, english)).events).toContain('"user_message":"Access was refused');
  expect((await turn("How are you?", fail)).events).toContain('"user_message":"Access was refused');
  expect((await turn("How are you?", fail, {}, chinese)).events).toContain('"user_message":"未获授权');
});
