import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import type { Browser } from "playwright-core";
import { startModelServer, type ModelRequest, type ModelStep } from "@millrace/testing/model-server";
import { findChromium, launchChromium } from "../support/pages/browser-page.ts";
import { ServerProcess } from "../support/processes/server-process.ts";
import { projectFolder } from "../support/source-files.ts";
import { copySamples } from "./demo/demo-session.ts";

/** Where the pictures of the README and of the walk through the console lie. */
const target = join(projectFolder, "docs/pictures");
const mistake = "The toll of a small sack comes out wrong. Find out why, and mend it.";
const cleanUp = "Thank you. Now delete the folder drafts.";

/** What the model does with a request: the next of the steps that its last question asks for. */
function answer({ messages }: ModelRequest): ModelStep {
  const asked = messages.findLastIndex(({ role }) => role === "user");
  const question = JSON.stringify(messages[asked]?.content ?? "");
  const steps = Object.entries(conversation).find(([words]) => question.includes(words))?.[1] ?? [];
  const done = messages.slice(asked).filter(({ role }) => role === "assistant").length;
  return steps[done] ?? { text: "Done." };
}

const conversation: Record<string, ModelStep[]> = {
  [mistake]: [
    {
      text: "I look where the toll is computed.",
      toolCalls: [
        { name: "search_content", arguments: { regex: "tollOf", path: "src" } },
        { name: "read_file", arguments: { path: "src/toll.js" } },
      ],
    },
    {
      text: "The smaller amount is taken, and the comment asks for the larger one.",
      toolCalls: [
        {
          name: "edit_file",
          arguments: { path: "src/toll.js", edits: [{ old_string: "Math.min(", new_string: "Math.max(" }] },
        },
      ],
    },
    {
      text: "The miller keeps **at least a scoop** of each sack, and `tollOf` took the smaller of both amounts. It takes the larger one now:\n\n- 80 kg: 5 kg, a sixteenth\n- 2 kg: 0.5 kg, the scoop",
    },
  ],
  [cleanUp]: [
    {
      text: "There is one draft in it, of March.",
      toolCalls: [{ name: "delete_file", arguments: { path: "drafts" } }],
    },
    { text: "The folder `drafts` is gone. `undo` brings it back." },
  ],
  "Who keeps what": [{ text: "The miller keeps a sixteenth of each sack, and never less than half a kilogram." }],
  "Plan the repair": [{ text: "1. Stop the wheel. 2. Change the two worn blades. 3. Start it slowly." }],
};

/** Takes the console, in which a call waits for approval, and the same conversation in a terminal. */
async function takePictures(executablePath: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "millrace-pictures-"));
  const workspace = join(folder, "mill");
  fill(workspace);
  const model = await startModelServer({ handler: answer, record: false });
  const server = new ServerProcess(folder, workspace);
  server.configure({
    MILLRACE_CONSOLE: "on",
    MILLRACE_MODEL: "openai:gpt-5",
    OPENAI_API_KEY: "none",
    OPENAI_BASE_URL: model.url,
  });
  const browser = await launchChromium(executablePath);
  try {
    mkdirSync(target, { recursive: true });
    await server.start();
    for (const words of ["Who keeps what of a sack?", "Plan the repair of the wheel"]) await send(server, words);
    await takeConsole(browser, server);
    fill(workspace);
    await takeTerminal(browser, await chat(server));
  } finally {
    await browser.close();
    await server.stop();
    await model.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Makes the workspace what it is before the first message. */
function fill(workspace: string): void {
  mkdirSync(join(workspace, "drafts"), { recursive: true });
  copySamples("code", workspace, "en");
  writeFileSync(join(workspace, "drafts", "march.md"), "# March\n");
}

async function send({ client }: ServerProcess, content: string): Promise<void> {
  const thread = await client.threads.create();
  await client.runs.wait(thread.thread_id, "agent", { input: { messages: [{ role: "user", content }] } });
}

/** Walks through the console as `docs/start/console-walk.md` does, and takes a picture of each station. */
async function takeConsole(browser: Browser, { url, client }: ServerProcess): Promise<void> {
  const page = await browser.newPage({ locale: "en", viewport: { width: 1280, height: 860 } });
  const take = async (name: string): Promise<void> => {
    await page.mouse.move(0, 0);
    await page.evaluate(`Promise.allSettled(document.getAnimations()
      .filter(({ effect }) => effect?.getComputedTiming().iterations !== Infinity)
      .map(({ finished }) => finished))`);
    await page.screenshot({ path: join(target, `${name}.png`) });
  };
  const go = async (path: string, part: string): Promise<void> => {
    await page.goto(`${url}/console${path}`);
    await page.locator(part).first().waitFor();
  };
  const say = async (words: string, part: string): Promise<void> => {
    await page.locator(".composer-field").fill(words);
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/console\/t\//u);
    await page.locator(".user-bubble", { hasText: words }).waitFor();
    await page.locator(part).first().waitFor();
    await page.locator(".stop-button").waitFor({ state: "detached" });
  };
  await go("/", ".home-thread");
  await take("first-page");
  await say(mistake, ".assistant-message li");
  const thread = new URL(page.url()).pathname.split("/").at(-1) ?? "";
  await page.locator(".operations-card [aria-expanded=false]").first().click();
  await page.locator(".operations-card .diff").waitFor();
  await take("chat");
  await page.locator(".operations-card [aria-expanded=true]").first().click();
  await page.locator(".title-bar .changes-button").click();
  await page.getByRole("dialog").locator(".operations-card").first().waitFor();
  await take("changes");
  await page.keyboard.press("Escape");
  await say(cleanUp, ".approval-card");
  await take("console");
  await go("/inbox", ".inbox .approval-card");
  await take("inbox");
  const run = (await client.runs.list(thread)).at(-1)?.run_id ?? "";
  await go(`/t/${thread}/run/${run}?view=time`, ".span-row");
  await page
    .getByRole("treeitem", { name: /^Model/u })
    .first()
    .click();
  await page.locator(".span-details pre").first().waitFor();
  await take("run");
  await go(`/t/${thread}/context`, ".context-request");
  await take("context");
  await go("/prompts/confirmation", ".prompt-editor pre");
  await page.getByText(/\d tokens/u).waitFor();
  await take("prompt");
  await page.close();
}

/** What a terminal of `millrace chat` shows, line by line. */
async function chat({ url }: ServerProcess): Promise<string> {
  const command = `stty cols 110; ${process.execPath} ${join(projectFolder, "bin/millrace.cjs")} chat --url ${url}`;
  const env = { PATH: process.env["PATH"] ?? "", HOME: tmpdir(), TERM: "xterm-256color", LANG: "C.UTF-8" };
  const child = spawn("script", ["-qfec", command, "/dev/null"], { env, stdio: ["pipe", "pipe", "inherit"] });
  const answers = [`${mistake}\r`, `${cleanUp}\r`, "y\r", "/quit\r"];
  let shown = "";
  let seen = 0;
  for await (const part of child.stdout.setEncoding("utf8")) {
    shown += String(part);
    const plain = stripVTControlCharacters(shown);
    if (!/(?:^|\n)(?:> |.*Approve\? y, or why not: )$/u.test(plain) || plain.length === seen) continue;
    seen = plain.length;
    child.stdin.write(answers.shift() ?? "");
  }
  if (child.exitCode === null) await once(child, "exit");
  return shown;
}

async function takeTerminal(browser: Browser, shown: string): Promise<void> {
  const lines = shown
    // What is dim stays so; all other codes only move the cursor.
    .replaceAll("\u001B[2m", "\u0001")
    .replaceAll("\u001B[22m", "\u0002");
  const text = stripVTControlCharacters(lines)
    .replaceAll("\r", "")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll("\u0001", "<i>")
    .replaceAll("\u0002", "</i>")
    .trim();
  const page = await browser.newPage({ viewport: { width: 1000, height: 200 }, deviceScaleFactor: 1.25 });
  await page.setContent(`<style>
    body { margin: 0; padding: 20px 24px; background: #16181d; color: #e8e6e1 }
    pre { margin: 0; font: 14px/1.5 "DejaVu Sans Mono", monospace; white-space: pre-wrap; overflow-wrap: anywhere }
    i { color: #8b93a1; font-style: normal }
  </style><pre><i>$</i> millrace chat\n${text}</pre>`);
  await page.screenshot({ path: join(target, "terminal.png"), fullPage: true });
}

const executablePath = findChromium();
if (executablePath === undefined) throw new Error("The pictures need Chromium; none is installed.");
await takePictures(executablePath);
