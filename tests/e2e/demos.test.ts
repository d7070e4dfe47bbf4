import { describe, expect, it } from "vitest";
import { demo, runNode as node } from "../support/processes/run-demo.ts";

// Each starts servers of its own; a busy machine takes its time for that.
describe("npm run demo", { timeout: 180_000 }, () => {
  it.each([
    ["main", ["4. The history of the session", "Everything the demo promises happened."]],
    ["documents", ["offer.docx has its 10988 bytes again.", "Undo gives back the text of before"]],
    [
      "documents zh",
      ["| 橡木水斗 | 24 | 19200 元 |", "撤销之后，offer.docx 恢复为原来的 11278 字节。", "演示的各个步骤均已完成。"],
    ],
    ["main zh", ["服务器询问：要删除文件夹 drafts", "演示的各个步骤均已完成。"]],
    ["planner zh", ["任务「买纸」已删除。", "演示的各个步骤均已完成。"]],
  ])("-- %s shows all of its steps", async (words, expected) => {
    const { code, output } = await node([demo, ...words.split(" ")]);
    for (const words of expected) expect(output).toContain(words);
    expect(code).toBe(0);
  });

  it("ends with 1 at the first step that does not happen, and says what was expected", async () => {
    const program = [
      'import { showDemo } from "./tests/e2e/demo/demo-session.ts";',
      'import { questionOf } from "./tests/e2e/demo/demo-turns.ts";',
      "const perform = async (server) => questionOf(server, (await server.client.threads.create()).thread_id);",
      "await showDemo({ prepare: () => undefined, perform });",
    ].join("\n");
    const { code, output } = await node(["--input-type=module", "--eval", program]);
    expect(output).toMatch(/The demo failed: .*the session should wait for an answer/u);
    expect(output).not.toContain("Everything the demo promises happened.");
    expect(code).toBe(1);
  });

  it.each([
    ["that is followed", 'turn(server, thread_id, "Compose an opera about pumps.", {})'],
    [
      "that is waited for",
      'wait(server, thread_id, { input: { messages: [{ role: "user", content: "写一部歌剧" }] } })',
    ],
  ])("ends with 1 where the stand-in does not understand a turn %s", async (_how, asked) => {
    const program = [
      'import { showDemo } from "./tests/e2e/demo/demo-session.ts";',
      'import { turn, wait } from "./tests/e2e/demo/demo-turns.ts";',
      "const perform = async (server) => {",
      "  const { thread_id } = await server.client.threads.create();",
      `  await ${asked};`,
      "};",
      "await showDemo({ prepare: () => undefined, perform });",
    ].join("\n");
    const { code, output } = await node(["--input-type=module", "--eval", program]);
    expect(output).toMatch(/The demo failed: .*The model did not understand the request/u);
    expect(code).toBe(1);
  });

  it("names the demos there are when it is asked for another", async () => {
    const { code, output } = await node([demo, "nothing"]);
    expect(output).toMatch(/^There is no demo "nothing"\. There are: main, .*\bdocuments\b.*\.\n$/u);
    expect(code).toBe(1);
  });
});
