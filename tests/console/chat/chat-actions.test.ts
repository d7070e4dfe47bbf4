import { access, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { en } from "../../../console/text/en.ts";
import { loadConfig } from "@millrace/engine/config/config";
import type { ModelRequest, ModelStep } from "@millrace/testing/model-server";
import { startWebServer, type WebServer } from "@millrace/testing/web-server";
import {
  begin,
  chromiumPath,
  editLast,
  leave,
  openPalette,
  openStage,
  press,
  rests,
  say,
  sees,
  shownTexts,
  type Stage,
  type Tab,
} from "../console-page.ts";

function answer({ messages }: ModelRequest): ModelStep {
  const at = messages.findLastIndex(({ role }) => role === "user");
  const last = String(messages[at]?.content);
  if (messages.slice(at).some(({ role }) => role === "tool")) return { text: "It is done." };
  if (last === "make two notes") {
    const args = (name: string) => ({ path: `${name}.md`, content: "one\n" });
    return { toolCalls: ["a", "b"].map((name) => ({ name: "create_file", arguments: args(name) })) };
  }
  if (last === "change a.md") {
    return {
      toolCalls: [
        { name: "edit_file", arguments: { path: "a.md", edits: [{ old_string: "one", new_string: "two" }] } },
      ],
    };
  }
  if (last === "clean up") return { toolCalls: [{ name: "delete_file", arguments: { path: "old.md" } }] };
  return { text: `You said: ${last}` };
}

const Made = z.object({ thread_id: z.string() });

let web: WebServer;
let stage: Stage;
let tab: Tab;

/** Brings in a conversation as it was exported elsewhere. */
async function bringIn(name: string, messages: readonly object[]): Promise<string> {
  const exported = { format: "millrace.session", version: 1, session_name: name, graph_id: "agent", messages };
  const made = await stage.server.send("POST", "/threads/import", exported);
  return Made.parse(await made.json()).thread_id;
}

describe.skipIf(chromiumPath === undefined)("what can be done with a chat", () => {
  beforeAll(async () => {
    const results = [{ title: "A mill", url: "https://example.com/mill", content: "It turns." }];
    web = await startWebServer(() => ({ body: JSON.stringify({ results }) }));
    stage = await openStage(answer, { web: loadConfig({ SEARXNG_URL: web.url }).web });
  });
  afterAll(async () => {
    await stage.close();
    await web.close();
  });
  afterEach(() => leave(tab));

  it("takes several changes back together or none, and those that were built upon one with it (UI-12)", async () => {
    const file = (name: string): string => join(stage.server.config.workspace, name);
    tab = await stage.open();
    await begin(tab, "make two notes");
    await sees(tab, "It is done.");
    await rests(tab);
    await say(tab, "change a.md");
    const cards = tab.page.locator(".conversation .operations-card");
    await expect.poll(() => cards.count()).toBe(3);
    await rests(tab);
    const first = cards.filter({ hasText: "a.md" }).first();
    await first.getByRole("button", { name: "Undo" }).click();
    const dialog = tab.page.getByRole("dialog");
    await dialog.getByText("Later operations have changed the same").waitFor();
    expect(await first.getByRole("button", { name: "Copy path", includeHidden: true }).count()).toBe(1);
    await access(file("a.md"));
    await dialog.getByRole("button", { name: "Undo all 2" }).click();
    await expect.poll(() => access(file("a.md")).then(() => "there", String)).toContain("ENOENT");
    await access(file("b.md"));
    await tab.page.getByRole("button", { name: "Undo everything since here" }).first().click();
    await dialog.getByText("b.md").waitFor();
    await dialog.getByRole("button", { name: "Undo" }).click();
    await expect.poll(() => cards.filter({ hasText: "Undone" }).count()).toBe(3);
    await expect(access(file("b.md"))).rejects.toThrow("ENOENT");
  });

  it("walks the versions of a message, and deletes one", async () => {
    tab = await stage.open();
    await begin(tab, "hello");
    await sees(tab, "You said: hello");
    await rests(tab);
    await editLast(tab);
    await tab.page.getByRole("textbox", { name: "Edit and run again" }).fill("good day");
    await tab.page.keyboard.press("Enter");
    await sees(tab, "You said: good day");
    await rests(tab);
    await tab.page.getByText("2/2").waitFor();
    await tab.page.getByRole("button", { name: "Earlier version" }).click();
    await expect.poll(() => shownTexts(tab)).toEqual(["hello", "You said: hello"]);
    await tab.page.getByText("1/2").waitFor();
    await tab.page.getByRole("button", { name: "Later version" }).click();
    await expect.poll(() => shownTexts(tab)).toEqual(["good day", "You said: good day"]);
    await tab.page.getByRole("button", { name: "Delete message" }).last().click();
    await tab.page.getByRole("dialog").getByRole("button", { name: "Delete message" }).click();
    await expect.poll(() => shownTexts(tab)).toEqual(["good day"]);
  });

  it("keeps what a message is changed to until the server has taken it, also over a reload", async () => {
    tab = await stage.open();
    const { page } = tab;
    await begin(tab, "hello");
    await sees(tab, "You said: hello");
    await rests(tab);
    const field = page.getByRole("textbox", { name: "Edit and run again" });
    const lost = Promise.withResolvers<void>();
    await page.route("**/rerun", async (route) => {
      await lost.promise;
      await route.abort();
    });
    await editLast(tab);
    await field.fill("good day");
    const sent = page.waitForRequest("**/rerun");
    await page.keyboard.press("Enter");
    await sent;
    // What is being sent cannot be cancelled: the text would be lost with it.
    expect(await page.getByRole("button", { name: "Cancel" }).isDisabled()).toBe(true);
    await page.keyboard.press("Escape");
    lost.resolve();
    await page.locator(".toast").first().waitFor();
    expect(await field.inputValue()).toBe("good day");
    await page.unroute("**/rerun");
    await page.reload();
    await sees(tab, "You said: hello");
    await rests(tab);
    await editLast(tab);
    expect(await field.inputValue()).toBe("good day");
    await page.keyboard.press("Enter");
    await sees(tab, "You said: good day");
    await rests(tab);
    expect(await shownTexts(tab)).toEqual(["good day", "You said: good day"]);
  });

  it("pins and archives it in the list, as every client sees", async () => {
    const thread = await bringIn("The kept one", [{ type: "human", id: "h", content: "hello" }]);
    tab = await stage.open();
    const row = tab.page.locator(".thread-row").filter({ hasText: "The kept one" });
    const act = async (name: string): Promise<void> => {
      await row.hover();
      await row.getByRole("button").click();
      await tab.page.getByRole("menuitem", { name }).click();
    };
    await act("Pin");
    await tab.page.locator(".list-group").getByText("Pinned").waitFor();
    const info = async () => (await stage.server.send("GET", `/threads/${thread}/info`)).json();
    expect(await info()).toMatchObject({ pinned: true, archived: false });
    await act("Archive");
    await row.waitFor({ state: "detached" });
    expect(await info()).toMatchObject({ pinned: true, archived: true });
    await tab.page.getByRole("button", { name: "Filters" }).click();
    await tab.page.getByLabel("Archived", { exact: true }).selectOption("also");
    await row.waitFor();
    await act("Unarchive");
    await expect.poll(info).toMatchObject({ archived: false });
  });

  it("is looked at in the list before it is opened, and deleted from there", async () => {
    const words = ["the first word", "one", "two", "three", "four", "the last word"];
    const messages = words.map((content, at) => ({ type: at % 2 === 0 ? "human" : "ai", id: `m${at}`, content }));
    const thread = await bringIn("The one to look at", messages);
    tab = await stage.open();
    const { page } = tab;
    const row = page.locator(".thread-row").filter({ hasText: "The one to look at" });
    expect(await row.locator(".thread-words").innerText()).toBe("the last word");
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await row.locator("a").focus();
    await press(tab, "Space");
    const dialog = page.getByRole("dialog", { name: "The one to look at" });
    await dialog.getByText("the last word").waitFor();
    expect(await dialog.getByRole("definition").allInnerTexts()).toEqual(words);
    expect(asked.filter((url) => url.includes("/messages"))).toHaveLength(1);
    const saved = page.waitForEvent("download");
    await dialog.getByRole("button", { name: "Export as Markdown" }).click();
    expect((await saved).suggestedFilename()).toBe("The one to look at.md");
    await press(tab, "Space");
    await dialog.getByRole("button", { name: "Open", exact: true }).click();
    await page.waitForURL((url) => url.pathname.endsWith(`/t/${thread}`));
    await sees(tab, "the last word");
    await row.hover();
    await row.getByRole("button").click();
    await page.getByRole("menuitem", { name: "Preview" }).click();
    await dialog.getByRole("button", { name: "Delete" }).click();
    await row.waitFor({ state: "detached" });
    await page.getByText("was deleted").waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await row.waitFor();
  });

  it("stays where its deletion is taken back, also when it was deleted twice", async () => {
    const thread = await bringIn("Deleted twice", [{ type: "human", id: "h", content: "hello" }]);
    tab = await stage.open();
    const { page } = tab;
    await page.clock.install();
    const deleted: string[] = [];
    page.on("request", (request) => request.method() === "DELETE" && deleted.push(request.url()));
    await page.goto(`${stage.server.url}/console/t/${thread}`);
    for (const count of [1, 2]) {
      await sees(tab, "hello");
      await page.locator(".title-bar").getByRole("button", { name: "More actions" }).click();
      await page.getByRole("menuitem", { name: "Delete" }).click();
      await page.locator(".home").waitFor();
      if (count === 1) await page.goBack();
    }
    await page.locator(".toast").last().getByRole("button", { name: "Undo" }).click();
    await page.clock.runFor(10_000);
    await page.evaluate("fetch('/ok')");
    expect(deleted).toEqual([]);
    expect((await stage.server.send("GET", `/threads/${thread}`)).status).toBe(200);
  });

  it.each(["hello", "clean up"])("shows what was used in the list of runs: %s", async (text) => {
    await writeFile(join(stage.server.config.workspace, "old.md"), "old\n");
    tab = await stage.open();
    const thread = await begin(tab, text);
    await tab.page.getByText("You said: hello").or(tab.page.locator(".approval-card")).first().waitFor();
    await rests(tab);
    await tab.page.goto(`${stage.server.url}/console/runs?thread=${thread}`);
    const tokens = tab.page.locator(".run-row[data-run] .run-cell-tokens");
    await expect.poll(async () => Number((await tokens.textContent())?.replaceAll(/\D/gu, ""))).toBeGreaterThan(0);
  });

  it("chooses a suggestion, which then is marked, and the others are over (UI-11)", async () => {
    const suggestions = ["Look at the mill", "Go home"];
    const thread = await bringIn("Suggesting", [
      { type: "human", id: "h", content: "what now?" },
      { type: "ai", id: "a", content: "Choose.", additional_kwargs: { suggestions } },
    ]);
    tab = await stage.open({ path: `/t/${thread}` });
    await tab.page.getByRole("button", { name: "Look at the mill" }).click();
    await sees(tab, "You said: Look at the mill");
    await rests(tab);
    await tab.page.locator(".suggestion[data-chosen]").getByText("Look at the mill").waitFor();
    expect(await tab.page.getByRole("button", { name: "Go home" }).isDisabled()).toBe(true);
  });

  it("draws Markdown and code, and lists the pages an answer was made of (UI-02, UI-06)", async () => {
    const text =
      '## Head\n\n- [x] done\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n**“重要”**的事\n\n```json\n{"a": 1}\n```\n\n```python\nreturn 1\n```';
    const pages = [
      { title: "A mill", url: "https://example.com/mill" },
      { title: "Not a page", url: "javascript:alert(1)" },
    ];
    const thread = await bringIn("Drawn", [
      { type: "system", id: "s", content: "You are a miller." },
      { type: "human", id: "h", content: "**as written**" },
      { type: "ai", id: "a", content: text, additional_kwargs: { web_search_results: pages } },
    ]);
    tab = await stage.open({ path: `/t/${thread}` });
    await sees(tab, "Head");
    const drawn = tab.page.locator(".assistant-message > .md");
    for (const [part, count] of [
      ["td", 2],
      ["input[type=checkbox]", 1],
      ["strong", 1],
    ] as const) {
      expect(await drawn.locator(part).count(), part).toBe(count);
    }
    expect(await drawn.getByRole("heading", { name: "Head" }).count()).toBe(1);
    await expect.poll(() => drawn.locator("pre:has(span[class*=tok-])").count()).toBe(2);
    expect(await drawn.getByRole("button", { name: "Copy code" }).count()).toBe(2);
    expect(await tab.page.getByText("You are a miller.").count()).toBe(0);
    expect(await shownTexts(tab)).toContain("**as written**");
    const sources = tab.page.locator(".web-search-card");
    expect(await sources.getByRole("listitem").count()).toBe(2);
    expect(
      await sources.getByRole("link").evaluateAll((links) => links.map((link) => link.getAttribute("href"))),
    ).toEqual(["https://example.com/mill"]);
  });

  it("says that the web is searched, before the answer (UI-06)", async () => {
    tab = await stage.open();
    const thread = await begin(tab, "hello");
    await sees(tab, "You said: hello");
    await rests(tab);
    const input = { messages: [{ role: "user", content: "which mills are there?" }] };
    const context = { mode: "free_work", web_search: "general" };
    const streamMode = ["custom" as const];
    const stream = stage.server.client.runs.stream(thread, "agent", { input, context, streamMode });
    expect((await Array.fromAsync(stream)).length).toBeGreaterThan(0);
    await sees(tab, "You said: which mills are there?");
    const shown = await tab.page.locator(".note-line, .assistant-message").allInnerTexts();
    expect(shown[1]).toBe("Searched the web for “which mills are there?”");
    const centred = "getComputedStyle(document.querySelector('.note-line')).textAlign";
    expect(await tab.page.evaluate(centred)).toBe("center");
    await tab.page.locator(".web-search-card").getByText("A mill").waitFor();
  });

  it("draws of a long chat what is in sight, and loads the older messages without a jump (UI-14)", async () => {
    const messages = Array.from({ length: 240 }, (_, index) => ({
      type: index % 2 === 0 ? "human" : "ai",
      id: `m${index}`,
      content: `Message ${index}\n\n- one\n- two`,
    }));
    const thread = await bringIn("Long", messages);
    tab = await stage.open({ path: `/t/${thread}` });
    await sees(tab, "Message 239");
    expect(await tab.page.locator(".conversation-item").count()).toBeLessThan(60);
    const scroller = tab.page.locator(".conversation");
    const first = () => tab.page.locator(".conversation-item").first().textContent();
    await expect
      .poll(
        async () => {
          await scroller.evaluate((element) => (element.scrollTop = 0));
          return await first();
        },
        { timeout: 60_000 },
      )
      .toContain("Message 0");
    expect(await tab.page.locator(".conversation-item").count()).toBeLessThan(60);
  });

  it("loads the older messages also where the first try to read the chat has failed", async () => {
    const messages = Array.from({ length: 80 }, (_, index) => ({
      type: index % 2 === 0 ? "human" : "ai",
      id: `m${index}`,
      content: `Message ${index}\n\n- one\n- two`,
    }));
    const thread = await bringIn("Read twice", messages);
    tab = await stage.open();
    const { page } = tab;
    await page.route("**/messages?limit=50", (route) => route.abort(), { times: 1 });
    await page.goto(`${stage.server.url}/console/t/${thread}`);
    await sees(tab, "Message 79");
    const top = async (): Promise<string | null> => {
      await page.locator(".conversation").evaluate((element) => (element.scrollTop = 0));
      return await page.locator(".conversation-item").first().textContent();
    };
    await expect.poll(top).toContain("Message 0");
  });

  it("reads the list once for many events of the same kind (UI-17)", async () => {
    const thread = await bringIn("Renamed", [{ type: "human", id: "h", content: "hello" }]);
    tab = await stage.open();
    const row = tab.page.locator(".thread-row");
    await row.getByText("Renamed").waitFor();
    let asked = 0;
    tab.page.on("request", (request) => {
      if (request.url().endsWith("/threads/info/search")) asked += 1;
    });
    const names = Array.from({ length: 30 }, (_, index) => `Name ${index}`);
    const rename = (name: string) => stage.server.send("PATCH", `/threads/${thread}/info`, { name });
    const begun = performance.now();
    await Promise.all(names.map(rename));
    await rename("The last name");
    // The name is shown as soon as it is received; the list is read a moment later.
    await row.getByText("The last name").waitFor();
    await expect.poll(() => asked).toBeGreaterThan(0);
    // Two lists are shown, those of all chats and of pinned ones; each is read again at most every 150 ms.
    expect(asked).toBeLessThanOrEqual(2 * ((performance.now() - begun) / 150 + 2));
  });

  it("says who answers and what its calls have used, and of which chat it is a copy", async () => {
    tab = await stage.open();
    const { page } = tab;
    const choose = async (name: string): Promise<void> => {
      await page.locator(".title-bar [aria-haspopup=menu]").click();
      await page.getByRole("menuitem", { name, exact: true }).click();
    };
    const fact = (name: string): Promise<string> =>
      page.getByRole("dialog").locator("dl > div", { hasText: name }).locator("dd").innerText();
    const thread = await begin(tab, "hello");
    await sees(tab, "You said: hello");
    await rests(tab);
    await choose(en.about.title);
    await page.getByRole("dialog").getByRole("region", { name: en.about.usage }).waitFor();
    expect(await fact(en.about.calls)).toBe("1");
    expect(await fact(en.about.id)).toBe(thread);
    expect(await fact(en.about.messages)).toBe("2");
    await page.keyboard.press("Escape");
    await choose(en.threads.fork);
    await expect.poll(() => page.url()).not.toContain(thread);
    await sees(tab, "You said: hello");
    await choose(en.about.title);
    await page.getByRole("dialog").getByRole("button", { name: en.about.origin, exact: true }).click();
    await expect.poll(() => page.url()).toContain(thread);
    await page.getByRole("dialog").waitFor({ state: "detached" });
  });

  it("says how full the window is, and makes room (UI-07)", async () => {
    const thread = await bringIn("Full", [
      { type: "human", id: "h", content: "hello" },
      { type: "ai", id: "a", content: "good day" },
    ]);
    tab = await stage.open();
    // As if the window were that full, which would take a very long conversation.
    let usage_ratio = 0;
    await tab.page.route("**/status", async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...z.looseObject({}).parse(await response.json()), usage_ratio } });
    });
    const makeRoom = tab.page.getByRole("button", { name: "Compress older messages" });
    for (const [ratio, level, buttons] of [
      [0.59, "low", 0],
      [0.6, "high", 1],
      [0.79, "high", 1],
      [0.8, "full", 1],
    ] as const) {
      usage_ratio = ratio;
      await tab.page.goto(`${stage.server.url}/console/t/${thread}`);
      await tab.page
        .locator(`.usage[data-level="${level}"]`)
        .getByText(`${Math.round(ratio * 100)}%`)
        .waitFor();
      expect(await makeRoom.count(), level).toBe(buttons);
    }
    // A preview comes first, and says where nothing can be compressed.
    await makeRoom.click();
    const dialog = tab.page.getByRole("dialog");
    await dialog.getByText("There is nothing to compress: 2 messages", { exact: false }).waitFor();
    expect(await dialog.getByRole("button", { name: "Compress" }).isDisabled()).toBe(true);
    await tab.page.unrouteAll({ behavior: "ignoreErrors" });
  });

  it("is in another language as soon as that is chosen (UI-15)", async () => {
    tab = await stage.open();
    await tab.page.getByRole("heading", { name: "What shall we do?" }).waitFor();
    await openPalette(tab);
    await tab.page.keyboard.type("中文");
    await tab.page.locator("[role=option][data-active-item]").getByText("中文").waitFor();
    await press(tab, "Enter");
    await tab.page.getByRole("heading", { name: "今天想做什么？" }).waitFor();
    expect(await tab.page.evaluate("document.documentElement.lang")).toBe("zh-CN");
    // Faster than any list is drawn: the last letter and Enter.
    await openPalette(tab);
    await tab.page.evaluate(`{
      const field = document.querySelector(".palette-field");
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(field, "English");
      field.dispatchEvent(new InputEvent("input", { bubbles: true, data: "English", inputType: "insertText" }));
      field.dispatchEvent(new KeyboardEvent("keydown", { bubbles: true, cancelable: true, key: "Enter" }));
    }`);
    await tab.page.getByRole("heading", { name: "What shall we do?" }).waitFor();
  });
});
