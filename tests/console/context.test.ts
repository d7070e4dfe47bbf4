import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import type { ModelRequest } from "@millrace/testing/model-server";
import {
  begin,
  chromiumPath,
  holdBack,
  leave,
  openStage,
  rests,
  say,
  sees,
  type Stage,
  type Tab,
} from "./console-page.ts";

const Toolkits = z.array(z.object({ name: z.string(), identity: z.string().nullable(), is_enabled: z.boolean() }));

describe.skipIf(chromiumPath === undefined)("what the model sees", () => {
  let stage: Stage;
  let tab: Tab;
  const asked: ModelRequest[] = [];
  beforeAll(async () => {
    stage = await openStage((request) => {
      asked.push(request);
      const last = request.messages.at(-1);
      if (last?.role === "user" && String(last.content).includes("look twice")) {
        return { toolCalls: [{ name: "list_files", arguments: { path: "." } }] };
      }
      return { text: `You said: ${String(request.messages.at(-1)?.content)}` };
    });
  });
  afterAll(() => stage.close());
  afterEach(() => leave(tab));

  it("is shown by section and as it was sent, with what is new against the request before", async () => {
    tab = await stage.open();
    const { page } = tab;
    const thread = await begin(tab, "look at the files");
    await sees(tab, "You said: look at the files");
    await rests(tab);
    await page.locator(".title-bar").getByRole("button", { name: "More actions" }).click();
    await page.getByRole("menuitem", { name: "What the model sees" }).click();
    await page.waitForURL((url) => url.pathname === `/console/t/${thread}/context`);
    const parts = page.getByRole("list", { name: "Context window" }).getByRole("listitem");
    for (const name of ["System prompt", "Tools", "Conversation", "Reserved for the answer", "Free"]) {
      await parts.filter({ hasText: name }).waitFor();
    }
    await page.getByText("This is the first request of its node").waitFor();

    const sent = asked.at(-1);
    // Its name beside the bar opens a section.
    await parts.getByRole("button", { name: "System prompt" }).click();
    await page.getByRole("button", { name: "identity" }).click();
    const identity = await page.getByRole("group", { name: "identity" }).innerText();
    expect(String(sent?.messages[0]?.content)).toContain(identity.trim());
    const edit = page.getByRole("link", { name: "Edit this prompt" });
    await expect.poll(() => edit.getAttribute("href")).toBe("/console/identity/general");
    await page.getByRole("button", { name: "task" }).click();
    await expect.poll(() => edit.last().getAttribute("href")).toBe("/console/prompts/free_work");
    const request = page.getByRole("group", { name: "What the model was sent" });
    expect(JSON.parse(await request.innerText())).toMatchObject({ messages: sent?.messages });

    // A page that stays open gets the next call.
    await page.getByRole("button", { name: "Open the chat" }).click();
    await say(tab, "and again");
    await sees(tab, "You said: and again");
    await rests(tab);
    await page.goBack();
    await page.getByText("The first 2 of 4 messages are unchanged.").waitFor();
    const added = page.locator('.diff [data-kind="added"]');
    await added.filter({ hasText: "and again" }).waitFor();
    expect(await page.locator('.diff [data-kind="removed"]').count()).toBe(0);
    await page.getByText("read the whole previous request from its cache").waitFor();

    // So are the requests of earlier runs.
    const runs = page.getByRole("combobox", { name: "Run" });
    await expect.poll(() => runs.getByRole("option").count()).toBe(2);
    await runs.selectOption({ index: 1 });
    await page.getByText("This is the first request of its node").waitFor();
    expect(JSON.parse(await request.innerText())).toMatchObject({ messages: sent?.messages });
  });

  it("is copied for a shell without the key, read anew by hand, and has a message when the server is too slow", async () => {
    tab = await stage.open();
    const { page, context } = tab;
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    const thread = await begin(tab, "it's one");
    await sees(tab, "You said: it's one");
    await rests(tab);
    const sent = asked.at(-1);
    await page.goto(`${stage.server.url}/console/t/${thread}/context`);
    await page.getByRole("button", { name: "Copy as curl" }).click();
    const copied = (): Promise<unknown> => page.evaluate("navigator.clipboard.readText()");
    await expect.poll(copied).toContain("curl");
    const command = await copied();
    expect(command).not.toContain("test-key");
    // A shell sends what the model was sent, to where it was sent.
    const fake = 'curl() { printf "%s\\n" "$@"; cat; }';
    const { stdout } = await promisify(execFile)("bash", ["-c", `${fake}\n${String(command)}`], {
      env: { ...process.env, API_KEY: "mine" },
    });
    expect(stdout).toContain(`${stage.model.url}/chat/completions\n`);
    expect(stdout).toContain("Authorization: Bearer mine\n");
    expect(JSON.parse(stdout.slice(stdout.indexOf("\n{")))).toMatchObject({ messages: sent?.messages });

    let requests = 0;
    page.on("request", (request) => {
      if (request.url().endsWith(`/${thread}/context`)) requests += 1;
    });
    await page.clock.install();
    await page.reload();
    const refresh = page.getByRole("button", { name: "Refresh" });
    await page.getByRole("button", { name: "Copy as curl" }).waitFor();
    await page.clock.pauseAt(Date.now() + 60_000);
    const before = requests;
    await refresh.dblclick();
    await page.clock.runFor(299);
    expect(requests).toBe(before);
    await page.clock.runFor(2);
    await expect.poll(() => requests).toBe(before + 1);
    const held = await holdBack(tab, `*/threads/${thread}/context`);
    await refresh.click();
    await page.clock.runFor(300);
    await expect.poll(() => requests).toBe(before + 2);
    await page.clock.runFor(10_000);
    await page.clock.resume();
    await page.getByRole("alert").filter({ hasText: "longer than 10 seconds" }).waitFor();
    await held.release();
  });

  it("lists the messages, of which one is hidden from the next request, and shares and saves what it is", async () => {
    tab = await stage.open();
    const { page } = tab;
    const thread = await begin(tab, "my secret is 42");
    await sees(tab, "You said: my secret is 42");
    await rests(tab);
    await page.goto(`${stage.server.url}/console/t/${thread}/context`);
    const part = (name: string) => page.getByRole("button", { name, exact: true });
    await part("Messages").click();
    const rows = page.getByRole("list", { name: "Messages" }).getByRole("listitem");
    const row = rows.filter({ hasText: "User" });
    await row.getByText("low importance").waitFor();
    await rows.filter({ hasText: "Assistant" }).getByText("not sent yet").waitFor();
    await row.getByRole("combobox").selectOption("Hide");
    await expect
      .poll(async () => (await stage.server.send("GET", `/threads/${thread}/messages`)).text())
      .toContain('"model_view":"hide"');
    await page.getByRole("button", { name: "Open the chat" }).click();
    await say(tab, "go on");
    await sees(tab, "You said: go on");
    await rests(tab);
    expect(JSON.stringify(asked.at(-1)?.messages)).not.toContain('"my secret is 42"');
    await page.goBack();
    await page
      .getByText("cache breaks at byte")
      .filter({ hasText: /messages\[1\]/u })
      .waitFor();
    await part("Messages").click();
    await row.first().getByText("hidden").waitFor();
    // Each part folds away.
    await part("What goes to the model").click();
    await page.getByRole("list", { name: "Context window" }).waitFor({ state: "detached" });
    await part("Budget and usage").click();
    const budget = page.getByRole("region", { name: "Budget and usage" });
    await budget.getByRole("row", { name: /^Reserved for the answer/u }).waitFor();
    await page.getByText("Price per million tokens").waitFor();
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save as Markdown" }).click();
    const file = await readFile(await (await saved).path(), "utf8");
    expect(file).toMatch(/^# What the model sees\n/u);
    expect(file).toContain("go on");
  });

  it("is shortened after a look at what a summary would stand for, and saved as a file", async () => {
    tab = await stage.open();
    const { page } = tab;
    const thread = await begin(tab, "one");
    for (const [said, next] of [
      ["one", "two"],
      ["two", "three"],
      ["three", "four"],
      ["four", "five"],
      ["five"],
    ] as const) {
      await sees(tab, `You said: ${said}`);
      await rests(tab);
      if (next !== undefined) await say(tab, next);
    }
    await page.goto(`${stage.server.url}/console/t/${thread}/context`);
    await page.getByRole("button", { name: "Compress" }).click();
    const dialog = page.getByRole("dialog");
    const marked = dialog.getByRole("listitem");
    // Of ten messages all stay, which the server says.
    await dialog.getByText("nothing to compress", { exact: false }).waitFor();
    await dialog.getByLabel("Latest messages to keep").selectOption("5");
    await marked.filter({ hasText: "one" }).first().waitFor();
    // A message that is marked stays, and the mark can be taken back.
    const status = dialog.getByRole("status");
    const all = await status.innerText();
    const mark = marked.filter({ hasText: "one" }).first().getByRole("checkbox");
    await mark.check();
    await expect.poll(() => status.innerText()).not.toBe(all);
    await mark.uncheck();
    await expect.poll(() => status.innerText()).toBe(all);
    const calls = asked.length;
    await dialog.getByRole("button", { name: "Compress" }).click();
    await dialog.waitFor({ state: "detached" });
    await expect.poll(() => asked.length).toBeGreaterThan(calls);
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save as JSON" }).click();
    expect((await saved).suggestedFilename()).toBe(`context-${thread}.json`);
  });

  it("leads to the identity of the profile that the run had, or the toolkit that it named", async () => {
    const { client } = stage.server;
    const toolkits = Toolkits.parse(await (await stage.server.send("GET", "/toolkits")).json());
    const named = toolkits.find(
      ({ identity, is_enabled }) => is_enabled && identity !== null && identity !== "general",
    );
    const cases = [
      { context: { profile: "chat" }, profile: "chat" },
      ...(named === undefined ? [] : [{ context: { toolkits: [named.name] }, profile: named.identity }]),
    ];
    tab = await stage.open();
    const { page } = tab;
    for (const { context, profile } of cases) {
      const { thread_id } = await client.threads.create();
      const input = { messages: [{ type: "human", content: "hello" }] };
      await client.runs.wait(thread_id, "agent", { input, context });
      await page.goto(`${stage.server.url}/console/t/${thread_id}/context`);
      await page.getByRole("list", { name: "Context window" }).getByRole("button", { name: "System prompt" }).click();
      await page.getByRole("button", { name: "identity" }).click();
      const edit = page.getByRole("link", { name: "Edit this prompt" });
      await expect.poll(() => edit.getAttribute("href")).toBe(`/console/identity/${profile}`);
    }
  });

  it("stays at the request that was chosen while the chat goes on, and else is the newest", async () => {
    const { client } = stage.server;
    const { thread_id: thread } = await client.threads.create();
    const turn = async (content: string): Promise<void> => {
      await client.runs.wait(thread, "agent", { input: { messages: [{ role: "user", content }] } });
    };
    await turn("look twice");
    tab = await stage.open({ path: `/t/${thread}/context` });
    const { page } = tab;
    const runs = page.getByRole("combobox", { name: "Run" });
    const requests = page.getByRole("combobox", { name: "Requests" });
    const shown = page.getByRole("group", { name: "What the model was sent" });
    await shown.getByText("tool_call_id").first().waitFor();
    await requests.selectOption({ index: 1 });
    await expect.poll(() => shown.innerText()).not.toContain("tool_call_id");
    const [run, request, text] = [await runs.inputValue(), await requests.inputValue(), await shown.innerText()];

    // The page has read of the next call when it names its tokens.
    const used = page.locator(".run-facts > div").filter({ hasText: "Tokens (estimated)" });
    const before = await used.innerText();
    await turn("and then");
    await expect.poll(() => used.innerText()).not.toBe(before);
    await expect.poll(() => runs.getByRole("option").count()).toBe(2);
    expect([await runs.inputValue(), await requests.inputValue()]).toEqual([run, request]);
    expect(await shown.innerText()).toBe(text);

    // Who goes to the newest run gets the next one.
    await runs.selectOption({ index: 0 });
    await expect.poll(() => shown.innerText()).toContain("and then");
    await turn("and last");
    await expect.poll(() => shown.innerText()).toContain("and last");
  });

  it("is nothing before the first call", async () => {
    const { thread_id } = await stage.server.client.threads.create();
    tab = await stage.open({ path: `/t/${thread_id}/context`, locale: "zh-CN" });
    await expect.poll(() => tab.page.locator(".blank-title").innerText()).toBe("还没有请求过模型");
  });
});
