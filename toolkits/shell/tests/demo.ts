import { equal, match, ok } from "node:assert/strict";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { projectFolder } from "../../../tests/support/source-files.ts";
import type { ServerProcess } from "../../../tests/support/processes/server-process.ts";
import type { ModelStep } from "@millrace/testing/model-server";
import type { Demo } from "../../../tests/e2e/demo/demo-session.ts";
import {
  approve,
  operationsOf,
  questionOf,
  turn,
  undo,
  withScriptedModel,
} from "../../../tests/e2e/demo/demo-turns.ts";
import { note, say } from "../../../tests/e2e/demo/demo-view.ts";

const samples = join(projectFolder, "samples/code");
const settings = { MILLRACE_TOOLKITS: "default,shell" };
const toolkits = ["files", "code", "shell"];
const scripted = { model: "openai:demo", mode: "free_work", toolkits };

/** A program with a mistake is read, searched, run, mended by SEARCH/REPLACE blocks, run again, and all of it is taken back. */
const code: Demo = {
  prepare: (workspace) => cpSync(samples, workspace, { recursive: true }),
  settings,
  async perform(server, workspace) {
    const { thread_id: thread } = await server.client.threads.create({ metadata: { name: "Code" } });
    await readAndSearch(server, thread);
    await withScriptedModel(server, [...mending, ...release], settings, async () => {
      await findMistake(server, workspace, thread);
      await mendIt(server, workspace, thread);
      await changeCriticalFile(server, workspace, thread);
    });
    await takeBack(server, workspace, thread);
  },
};

const calls = (name: string, given: Record<string, unknown>): ModelStep => ({
  toolCalls: [{ name, arguments: given }],
});
const edit = (path: string, from: string, to: string): ModelStep =>
  calls("replace_in_file", { path, diff: `<<<<<<< SEARCH\n${from}\n=======\n${to}\n>>>>>>> REPLACE\n` });
const check = calls("execute_command", { command: "node check.js", requires_approval: false });

const mending: ModelStep[] = [
  calls("list_code_definition_names", { path: "src" }),
  check,
  edit("src/toll.js", "\treturn Math.min(sack.kilograms * share, scoop);", "\treturn 0.5;"),
  edit(
    "src/toll.js",
    "  return Math.min(sack.kilograms * share, scoop);",
    "  return Math.max(sack.kilograms * share, scoop);",
  ),
  check,
  { text: "The smaller amount was taken where the larger one is meant. It is mended, and the check passes." },
];
const release: ModelStep[] = [
  edit("package.json", '  "version": "1.0.0",', '  "version": "1.0.1",'),
  { text: "The version is 1.0.1 now." },
];

async function readAndSearch(server: ServerProcess, thread: string): Promise<void> {
  const request = "read src/toll.js";
  say(
    1,
    "A source file is read, and its uses are searched (the offline model)",
    `${request}; search for "tollOf" in src`,
  );
  const read = await turn(server, thread, request, { toolkits });
  match(read, /export function tollOf\(sack\)/u, "src/toll.js was not read");
  const found = await turn(server, thread, 'search for "tollOf" in src', { toolkits });
  match(found, /toll\.js/u, `the search found nothing: ${found}`);
  equal(found.match(/tollOf/gu)?.length, 2, `the search should find the function and its use: ${found}`);
}

async function findMistake(server: ServerProcess, workspace: string, thread: string): Promise<void> {
  const request = "The toll is wrong. Find out why, and mend it.";
  say(2, "What the file defines, and a check that is run after a yes (a scripted model)", request);
  const listed = await turn(server, thread, request, scripted);
  match(listed, /function tollOf[\s\S]*class Ledger/u, `the definitions are not there: ${listed}`);
  const question = await questionOf(server, thread);
  ok(question.includes("node check.js"), `the question should show the command: ${question}`);
  note("The server asks whether it may run: node check.js");
  const failed = await approve(server, thread, scripted);
  match(failed, /0\.625 !== 5\.5/u, `the check should fail with 0.625 in place of 5.5: ${failed}`);
  match(failed, /differs only in blanks/u, `the first edit should not fit, and be told how: ${failed}`);
  match(failed, /Changed src\/toll\.js \(1 block\)/u, `the second edit should fit: ${failed}`);
  ok(textOf(workspace, "src/toll.js").includes("Math.max("), "src/toll.js was not mended");
}

async function mendIt(server: ServerProcess, workspace: string, thread: string): Promise<void> {
  say(3, "The mended program is run, after a yes of its own", "node check.js");
  const passed = await approve(server, thread, scripted);
  match(passed, /Exit code 0\.\nThe ledger is right\./u, `the check should pass: ${passed}`);
  equal((await server.client.threads.get(thread)).status, "idle");
  equal(
    textOf(workspace, "src/toll.js").replace("Math.max", "Math.min"),
    readFileSync(join(samples, "src/toll.js"), "utf8"),
    "more than the one word was changed",
  );
}

async function changeCriticalFile(server: ServerProcess, workspace: string, thread: string): Promise<void> {
  const request = "Make it a release.";
  say(4, "An edit of a file that steers programs waits for a yes", request);
  const before = textOf(workspace, "package.json");
  await turn(server, thread, request, scripted);
  match(await questionOf(server, thread), /package\.json/u, "the question should name the file");
  equal(textOf(workspace, "package.json"), before, "package.json was changed before anybody said yes");
  note("The server asks whether it may change package.json.");
  await approve(server, thread, scripted);
  match(textOf(workspace, "package.json"), /"version": "1\.0\.1"/u, "package.json was not changed after the yes");
}

async function takeBack(server: ServerProcess, workspace: string, thread: string): Promise<void> {
  say(5, "Both edits are taken back, byte for byte", "POST /threads/:thread_id/operations/:operation_id/undo");
  const edits = (await operationsOf(server, thread)).filter(({ status }) => status === "success");
  for (const { operation_id } of edits) await undo(server, thread, operation_id);
  for (const path of ["src/toll.js", "package.json"]) {
    ok(readFileSync(join(workspace, path)).equals(readFileSync(join(samples, path))), `${path} is not what it was`);
    note(`${path} is what it was.`);
  }
}

function textOf(workspace: string, path: string): string {
  return readFileSync(join(workspace, path), "utf8");
}

/** What `npm run demo -- <name>` shows. */
export const demos = { code };
