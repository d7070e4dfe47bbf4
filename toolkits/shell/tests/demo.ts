import { equal, match, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Language } from "@millrace/engine/language";
import type { ServerProcess } from "../../../tests/support/processes/server-process.ts";
import type { ModelStep } from "@millrace/testing/model-server";
import { copySamples, sample, type Demo } from "../../../tests/e2e/demo/demo-session.ts";
import {
  approve,
  operationsOf,
  questionOf,
  turn,
  undo,
  withScriptedModel,
} from "../../../tests/e2e/demo/demo-turns.ts";
import { note, say } from "../../../tests/e2e/demo/demo-view.ts";

const settings = { MILLRACE_TOOLKITS: "default,shell" };
const toolkits = ["files", "code", "shell"];
const scripted = { model: "openai:demo", mode: "free_work", toolkits };

/** A program with a mistake is read, searched, run, mended by search and replace, run again, and all of it is taken back. */
const code: Demo = {
  prepare: (workspace, language) => copySamples("code", workspace, language),
  settings,
  async perform(server, workspace, language) {
    const { thread_id: thread } = await server.client.threads.create({ metadata: { name: texts[language].name } });
    await readAndSearch(server, thread, language);
    await withScriptedModel(server, [...mending(language), ...release(language)], settings, async () => {
      await findMistake(server, workspace, thread, language);
      await mendIt(server, workspace, thread, language);
      await changeCriticalFile(server, workspace, thread, language);
    });
    await takeBack(server, workspace, thread, language);
  },
};

/** What is said in either language, by the user and by the demo. */
const texts = {
  en: {
    name: "Code",
    title: {
      read: "A source file is read, and its uses are searched (the offline model)",
      find: "What the file defines, and a check that is run after an approval (a scripted model)",
      run: "The mended program is run, after an approval of its own",
      critical: "An edit of a file that steers programs waits for an approval",
      undo: "Both edits are taken back, byte for byte",
    },
    read: "read src/toll.js",
    search: 'search for "tollOf" in src',
    mend: "The toll is wrong. Find out why, and mend it.",
    mended: "The smaller amount was taken where the larger one is meant. It is mended, and the check passes.",
    asksToRun: "The server asks whether it may run: node check.js",
    release: "Make it a release.",
    released: "The version is 1.0.1 now.",
    asksToChange: "The server asks whether it may change package.json.",
    right: /Exit code 0\.\nThe ledger is right\./u,
    asBefore: (path: string) => `${path} is what it was.`,
  },
  zh: {
    name: "代码",
    title: {
      read: "读取源文件，并搜索其用法（离线模型）",
      find: "列出文件中的定义，经同意后运行检查（脚本模型）",
      run: "修正后的程序经再次同意后运行",
      critical: "修改会影响程序运行的文件前等待确认",
      undo: "撤销两处修改，逐字节恢复",
    },
    read: "读取 src/toll.js",
    search: "在 src 中搜索“tollOf”",
    mend: "磨坊的抽成算错了。请找出原因并修正。",
    mended: "这里应取较大值，却取了较小值。已经修正，检查通过。",
    asksToRun: "服务器询问是否可以运行：node check.js",
    release: "发布一个新版本。",
    released: "版本号现在是 1.0.1。",
    asksToChange: "服务器询问是否可以修改 package.json。",
    right: /Exit code 0\.\n账目正确。/u,
    asBefore: (path: string) => `${path} 已恢复原样。`,
  },
};

const calls = (name: string, given: Record<string, unknown>): ModelStep => ({
  toolCalls: [{ name, arguments: given }],
});
const edit = (path: string, from: string, to: string): ModelStep =>
  calls("edit_file", { path, edits: [{ old_string: from, new_string: to }] });
const check = calls("execute_command", { command: "node check.js", requires_approval: true });

const mending = (language: Language): ModelStep[] => [
  calls("list_code_definition_names", { path: "src" }),
  check,
  edit(
    "src/toll.js",
    "\treturn Math.min(sack.kilograms * share, scoop);",
    "\treturn Math.max(sack.kilograms * share, scoop);",
  ),
  edit(
    "src/toll.js",
    "  return Math.min(sack.kilograms * share, scoop);",
    "  return Math.max(sack.kilograms * share, scoop);",
  ),
  check,
  { text: texts[language].mended },
];
const release = (language: Language): ModelStep[] => [
  edit("package.json", '  "version": "1.0.0",', '  "version": "1.0.1",'),
  { text: texts[language].released },
];

async function readAndSearch(server: ServerProcess, thread: string, language: Language): Promise<void> {
  const { title, read: request, search } = texts[language];
  say(1, title.read, `${request}${language === "zh" ? "；" : "; "}${search}`);
  const read = await turn(server, thread, request, { toolkits });
  match(read, /export function tollOf\(sack\)/u, "src/toll.js was not read");
  const found = await turn(server, thread, search, { toolkits });
  match(found, /toll\.js/u, `the search found nothing: ${found}`);
  equal(found.match(/tollOf/gu)?.length, 2, `the search should find the function and its use: ${found}`);
}

async function findMistake(
  server: ServerProcess,
  workspace: string,
  thread: string,
  language: Language,
): Promise<void> {
  const { title, mend: request, asksToRun } = texts[language];
  say(2, title.find, request);
  const listed = await turn(server, thread, request, scripted);
  match(listed, /function tollOf[\s\S]*class Ledger/u, `the definitions are not there: ${listed}`);
  const question = await questionOf(server, thread);
  ok(question.includes("node check.js"), `the question should show the command: ${question}`);
  note(asksToRun);
  const failed = await approve(server, thread, scripted, language);
  match(failed, /0\.625 !== 5\.5/u, `the check should fail with 0.625 in place of 5.5: ${failed}`);
  match(failed, /differs only in blanks/u, `the first edit should not fit, and the result should say why: ${failed}`);
  match(failed, /Changed src\/toll\.js \(1 place\)/u, `the second edit should fit: ${failed}`);
  ok(textOf(workspace, "src/toll.js").includes("Math.max("), "src/toll.js was not mended");
}

async function mendIt(server: ServerProcess, workspace: string, thread: string, language: Language): Promise<void> {
  const { title, asksToRun, right } = texts[language];
  say(3, title.run, "node check.js");
  note(asksToRun);
  const passed = await approve(server, thread, scripted, language);
  match(passed, right, `the check should pass: ${passed}`);
  equal((await server.client.threads.get(thread)).status, "idle");
  equal(
    textOf(workspace, "src/toll.js").replace("Math.max", "Math.min"),
    sample("code", "src/toll.js", language).toString(),
    "more than the one word was changed",
  );
}

async function changeCriticalFile(
  server: ServerProcess,
  workspace: string,
  thread: string,
  language: Language,
): Promise<void> {
  const { title, release: request, asksToChange } = texts[language];
  say(4, title.critical, request);
  const before = textOf(workspace, "package.json");
  await turn(server, thread, request, scripted);
  match(await questionOf(server, thread), /package\.json/u, "the question should name the file");
  equal(textOf(workspace, "package.json"), before, "package.json was changed before the approval");
  note(asksToChange);
  await approve(server, thread, scripted, language);
  match(textOf(workspace, "package.json"), /"version": "1\.0\.1"/u, "package.json was not changed after the approval");
}

async function takeBack(server: ServerProcess, workspace: string, thread: string, language: Language): Promise<void> {
  const { title, asBefore } = texts[language];
  say(5, title.undo, "POST /threads/:thread_id/operations/:operation_id/undo");
  const edits = (await operationsOf(server, thread)).filter(({ status }) => status === "success");
  for (const { operation_id } of edits) await undo(server, thread, operation_id);
  for (const path of ["src/toll.js", "package.json"]) {
    ok(readFileSync(join(workspace, path)).equals(sample("code", path, language)), `${path} is not what it was`);
    note(asBefore(path));
  }
}

function textOf(workspace: string, path: string): string {
  return readFileSync(join(workspace, path), "utf8");
}

/** What `npm run demo -- <name>` shows. */
export const demos = { code };
