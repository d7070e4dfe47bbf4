import { deepEqual, equal, ok } from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { startModelServer, type ModelRequest, type ModelStep } from "@millrace/testing/model-server";
import { z } from "zod";
import type { ServerProcess } from "../../support/processes/server-process.ts";
import type { Language } from "@millrace/engine/language";
import { wait } from "./demo-turns.ts";
import { follow, messagesOf, note, say, short } from "./demo-view.ts";

/** What the user says in the three turns. */
const requests: Record<Language, { summary: string; deletion: string; journal: string }> = {
  en: {
    summary: "read notes.md and write a summary to summary.md",
    deletion: "delete the folder drafts",
    journal: "Write the journal: journal/first.md and journal/second.md.",
  },
  zh: {
    summary: "读取 notes.md，并把摘要写入 summary.md",
    deletion: "删除文件夹 drafts",
    journal: "请写日志：journal/first.md 和 journal/second.md。",
  },
};

/** A turn that reads a file and writes another, streamed while it happens. Gives the thread for the next steps. */
export async function streamedTurn(server: ServerProcess, workspace: string, language: Language): Promise<string> {
  const request = requests[language].summary;
  const inChinese = language === "zh";
  say(1, inChinese ? "流式回复：读取并写入真实文件" : "A streamed turn that reads and writes real files", request);
  const { client } = server;
  const thread = await client.threads.create({ metadata: { name: inChinese ? "演示" : "Demo" } });
  const seen = await follow(
    client.runs.stream(thread.thread_id, "agent", {
      input: { messages: [{ role: "user", content: request }] },
      streamMode: ["messages-tuple", "custom"],
      streamSubgraphs: false,
    }),
  );
  ok(seen.pieces > 5, `the answer came in ${seen.pieces} piece(s), not streamed`);
  ok(seen.tools.includes("read_file"), `read_file was not called, but: ${seen.tools.join(", ")}`);
  const path = join(workspace, "summary.md");
  ok(existsSync(path), "summary.md was not written");
  ok(readFileSync(path, "utf8").trim().length > 0, "summary.md is empty");
  note(`${inChinese ? "summary.md 的内容：" : "summary.md now says:"}\n${readFileSync(path, "utf8").trimEnd()}`);
  return thread.thread_id;
}

/** The deletion of a folder with files in it waits for an approval, and happens after it. */
export async function approveDeletion(
  server: ServerProcess,
  workspace: string,
  thread: string,
  language: Language,
): Promise<void> {
  const request = requests[language].deletion;
  const inChinese = language === "zh";
  say(2, inChinese ? "删除操作等待批准" : "A deletion that waits for approval", request);
  const { client } = server;
  const folder = join(workspace, "drafts");
  await wait(server, thread, { input: { messages: [{ role: "user", content: request }] } });
  const waiting = await client.threads.get(thread);
  equal(waiting.status, "interrupted", "the session should wait for an answer");
  ok(existsSync(join(folder, "one.md")), "the folder was deleted before the approval");
  const [pending] = Object.values(waiting.interrupts).flat();
  const question = JSON.stringify(pending?.value);
  ok(question.includes("delete_file"), `the question should name the call: ${question}`);
  const { question: asked } = z.object({ question: z.string() }).parse(pending?.value);
  note(inChinese ? `服务器询问：${asked}` : `The server asks: ${asked}`);
  note(inChinese ? "回答：批准。" : "Answer: approve.");
  await wait(server, thread, { command: { resume: { decisions: [{ type: "approve" }] } } });
  ok(!existsSync(folder), "the folder is still there after the approval");
  equal((await client.threads.get(thread)).status, "idle");
  note(inChinese ? "文件夹已删除，会话处于空闲状态。" : "The folder is gone, and the session is idle.");
}

/** A run is killed between its two tool calls; after a restart the same run ends, and the first effect is not repeated. */
export async function killAndResume(
  server: ServerProcess,
  workspace: string,
  thread: string,
  language: Language,
): Promise<void> {
  const request = requests[language].journal;
  const inChinese = language === "zh";
  const title = inChinese
    ? "运行中途 kill -9（此步使用脚本模型）"
    : "kill -9 in the middle of a run (with a scripted model)";
  say(3, title, request);
  const script = new KillScript(language);
  const model = await startModelServer({ handler: (request) => script.answer(request) });
  try {
    await server.stop();
    server.configure({ OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "demo" });
    await server.start();
    note(
      inChinese
        ? `服务器改用脚本模型重新启动，进程 ${server.pid}。`
        : `Started again with the scripted model as process ${server.pid}.`,
    );
    const run = await server.client.runs.create(thread, "agent", {
      input: { messages: [{ role: "user", content: request }] },
      context: { model: "openai:demo", mode: "free_work" },
    });
    await script.secondQuestion;
    const first = join(workspace, "journal", "first.md");
    const before = statSync(first, { bigint: true });
    ok(!existsSync(join(workspace, "journal", "second.md")), "the run was over before it could be killed");
    note(
      inChinese
        ? `第一个文件已写入，模型正在准备第二个。kill -9 ${server.pid}`
        : `The first file is written, the model prepares the second. kill -9 ${server.pid}`,
    );
    await server.kill();
    script.proceed();
    await server.start();
    note(inChinese ? `服务器已重新启动，进程 ${server.pid}。` : `Started again as process ${server.pid}.`);
    await server.client.runs.join(thread, run.run_id);
    const ended = await server.client.runs.get(thread, run.run_id);
    equal(ended.status, "success", "the same run should end well");
    equal(readFileSync(join(workspace, "journal", "second.md"), "utf8"), journalOf[language].second);
    const after = statSync(first, { bigint: true });
    deepEqual([after.ino, after.mtimeNs], [before.ino, before.mtimeNs], "the first file was written a second time");
    equal(script.firstQuestions, 1, "the run began again from its input");
    const calls = messagesOf(await server.client.threads.getState(thread)).filter(
      (message) => message.type === "tool" && message.text.includes("journal/first.md"),
    );
    equal(calls.length, 1, "the first call should have exactly one result");
    note(
      inChinese
        ? "同一次运行已完成：第一个文件只写了一次，第二个在重启后写入。"
        : "The same run ended; the first file was written once, the second after the restart.",
    );
  } finally {
    script.proceed();
    await model.close();
  }
}

/** What the session has been through. */
export async function showHistory(server: ServerProcess, thread: string, language: Language): Promise<void> {
  const inChinese = language === "zh";
  say(4, inChinese ? "会话的历史" : "The history of the session", "GET /threads/:thread_id/history");
  const states = await server.client.threads.getHistory(thread, { limit: 100 });
  const [newest] = states;
  ok(newest !== undefined && states.length > 10, `only ${states.length} checkpoints`);
  const messages = messagesOf(newest);
  const { summary, deletion, journal } = requests[language];
  const asked = messages.filter((message) => message.type === "human").map((message) => message.text);
  deepEqual(asked, [summary, deletion, journal]);
  const names: Record<string, string> = inChinese
    ? { human: "用户", ai: "助手", tool: "工具" }
    : { human: "user     ", ai: "assistant", tool: "tool     " };
  for (const { type, text, calls } of messages) {
    // Lines of a file come with their numbers.
    const words = text.replaceAll(/^\d+\t/gmu, "");
    const called = `${inChinese ? "调用 " : "calls "}${calls.join(", ")}`;
    note(`${names[type] ?? type}  ${text === "" ? called : short(words, 90)}`);
  }
  note(
    inChinese
      ? `${states.length} 个检查点；每个都可以查看、分叉，并由此继续。工具的结果是模型读到的英文原文。`
      : `${states.length} checkpoints; each can be read, forked and gone on from.`,
  );
}

/** What the model of step 3 writes and says. */
const journalOf: Record<Language, { first: string; second: string; end: string }> = {
  en: { first: "first", second: "second", end: "The journal is written." },
  zh: { first: "第一篇", second: "第二篇", end: "日志已写好。" },
};

/** The model of step 3: two files, one call at a time; it holds its second answer until the server has been killed. */
class KillScript {
  firstQuestions = 0;
  /** Settles when the run, with its first effect done, asks for the second. */
  readonly secondQuestion: Promise<void>;
  readonly #killed: Promise<void>;
  readonly #language: Language;
  #asked = (): void => {};
  #release = (): void => {};

  constructor(language: Language) {
    this.#language = language;
    this.secondQuestion = new Promise((resolve) => (this.#asked = resolve));
    this.#killed = new Promise((resolve) => (this.#release = resolve));
  }

  /** Lets the held answer go. */
  proceed(): void {
    this.#release();
  }

  answer(request: ModelRequest): ModelStep {
    const turn = request.messages.slice(request.messages.findLastIndex((message) => message.role === "user"));
    const done = turn.filter((message) => message.role === "tool").length;
    const { first, second, end } = journalOf[this.#language];
    if (done === 0) {
      this.firstQuestions += 1;
      return { toolCalls: [{ name: "write_file", arguments: { path: "journal/first.md", content: first } }] };
    }
    if (done > 1) return { text: end };
    this.#asked();
    const call = { name: "write_file", arguments: { path: "journal/second.md", content: second } };
    return { toolCalls: [call], hold: { after: 0, until: this.#killed } };
  }
}
