import { access, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { ModelRequest, ModelStep } from "@millrace/testing/model-server";
import {
  axeFindings,
  begin,
  chromiumPath,
  leave,
  openStage,
  openPalette,
  press,
  rests,
  say,
  sees,
  shownTexts,
  tabTo,
  type Stage,
  type Tab,
} from "./console-page.ts";

const ada = { owner: "ada", key: "key-of-ada" };

function answer({ messages }: ModelRequest): ModelStep {
  const last = messages.findLast(({ role }) => role === "user")?.content;
  const tools = messages
    .slice(messages.findLastIndex(({ role }) => role === "user"))
    .filter(({ role }) => role === "tool");
  if (last === "clean up" && tools.length === 0) {
    return { text: "I tidy up.", toolCalls: [{ name: "delete_file", arguments: { path: "old.md" } }] };
  }
  if (last === "make a note" && tools.length === 0) {
    return { toolCalls: [{ name: "create_file", arguments: { path: "note.md", content: "A note.\n" } }] };
  }
  return { text: tools.length > 0 ? "It is done." : `You said: ${String(last)}` };
}

describe.skipIf(chromiumPath === undefined)("the shell of the console", () => {
  let stage: Stage;
  let tab: Tab;
  const workspace = (name: string): string => join(stage.server.config.workspace, name);
  beforeAll(async () => {
    stage = await openStage(answer);
  });
  afterAll(() => stage.close());
  afterEach(() => leave(tab));

  it("is used by the keyboard alone: send, approve, undo, rename, find, go", async () => {
    await writeFile(workspace("old.md"), "old\n");
    tab = await stage.open();
    await tab.page.locator(".composer-field").waitFor();
    await tab.page.keyboard.type("clean up");
    await press(tab, "Enter");
    // One key goes to what waits, from wherever one is, also from the field.
    const card = tab.page.locator(".approval-card");
    await card.waitFor();
    await press(tab, "Control+j");
    await tab.page.locator(".approval-card:focus").waitFor();
    // A card that has just appeared takes no answer.
    await expect.poll(async () => (await press(tab, "a"), card.count())).toBe(0);
    await sees(tab, "It is done.");
    await rests(tab);
    await expect(access(workspace("old.md"))).rejects.toThrow("ENOENT");
    await tab.page.locator(".operations-card").getByRole("button", { name: "Undo" }).waitFor();
    await tabTo(tab, /^Undo/u, "Shift+Tab");
    await press(tab, "u");
    await tab.page.locator(".operations-card").getByText("Undone: the file is there again").waitFor();
    await access(workspace("old.md"));

    // The name, a place, and a chat that is looked for.
    await tabTo(tab, "clean up", "Shift+Tab");
    await press(tab, "Enter", "Control+a");
    await tab.page.keyboard.type("The tidy one");
    await press(tab, "Enter");
    await tab.page.locator(".title-name").getByText("The tidy one").waitFor();
    await press(tab, "g", "i");
    await tab.page.getByRole("heading", { name: "Inbox" }).waitFor();
    await openPalette(tab);
    await tab.page.keyboard.type("tidy one");
    await tab.page.getByRole("option", { name: /tidy one/u }).waitFor();
    await press(tab, "ArrowDown", "Enter");
    await tab.page.locator(".title-name").getByText("The tidy one").waitFor();
    await press(tab, "?");
    await tab.page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    await press(tab, "Escape");
    await tab.page.getByRole("dialog").waitFor({ state: "detached" });
    // In the list the arrows of letters go from chat to chat.
    await press(tab, "n");
    await tab.page.getByRole("heading", { name: "What shall we do?" }).waitFor();
  });

  it("says of a chat that went on unseen that it is unread, until it is opened", async () => {
    tab = await stage.open();
    const thread = await begin(tab, "wait for me");
    await sees(tab, "You said: wait for me");
    await rests(tab);
    const row = tab.page.locator(`.thread-row:has(a[href$="${thread}"])`);
    const unread = row.getByRole("img", { name: "Unread" });
    const { client } = stage.server;
    // It is noted when the chat begins and once more at its end, by the page that shows it.
    const info = async () => (await stage.server.send("GET", `/threads/${thread}/info`)).json();
    const isRead = { status: "idle", read_at: expect.any(String), unread_since: null };
    await expect.poll(info).toMatchObject(isRead);
    await press(tab, "g", "i");
    await tab.page.getByRole("heading", { name: "Inbox" }).waitFor();
    await row.waitFor();
    await expect.poll(() => unread.count()).toBe(0);
    await client.runs.wait(thread, "agent", { input: { messages: [{ role: "user", content: "by a program" }] } });
    await unread.waitFor();
    await row.locator("a").click();
    await sees(tab, "You said: by a program");
    await expect.poll(info).toMatchObject(isRead);
    await tab.page.goBack();
    await tab.page.getByRole("heading", { name: "Inbox" }).waitFor();
    await unread.waitFor({ state: "detached" });
    // Its time goes on without a reload.
    const time = row.locator("time");
    await expect.poll(() => time.textContent()).toBe("just now");
    await tab.page.clock.setFixedTime(Date.now() + 5 * 60_000);
    await tab.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    await expect.poll(() => time.textContent()).toMatch(/^[45] min ago$/u);
  });

  it("answers the third of five questions from the inbox with six keys", async () => {
    tab = await stage.open();
    for (let count = 0; count < 5; count += 1) {
      await writeFile(workspace("old.md"), "old\n");
      await tab.page.goto(`${stage.server.url}/console/`);
      await begin(tab, "clean up");
      await tab.page.locator(".approval-card").waitFor();
    }
    await tab.page.goto(`${stage.server.url}/console/`);
    const cards = tab.page.locator(".inbox .approval-card");
    await tab.page.locator(".rail .badge").getByText("5").waitFor();
    await tab.page.locator("main").focus();
    await press(tab, "g", "i");
    await expect.poll(() => cards.count()).toBe(5);
    const third = (await cards.nth(2).getAttribute("data-approval")) ?? "";
    await press(tab, "j", "j", "j");
    await tab.page.locator(`[data-approval="${third}"]:focus`).waitFor();
    await expect.poll(async () => (await press(tab, "a"), cards.count())).toBe(4);
    expect(await tab.page.locator(`[data-approval="${third}"]`).count()).toBe(0);
    await expect.poll(() => tab.page.title()).toBe("(4) Inbox · Millrace");
    // The others are answered no, with a word for the model.
    for (let left = 4; left > 0; left -= 1) {
      await tab.page
        .getByRole("button", { name: /^Reject/u })
        .first()
        .click();
      await tab.page.getByRole("textbox", { name: "Reason (optional)" }).fill("keep it");
      await tab.page
        .getByRole("button", { name: /^Reject/u })
        .first()
        .click();
      await expect.poll(() => cards.count()).toBe(left - 1);
    }
    await tab.page.getByText("Nothing is waiting for you").waitFor();
  });

  it("speaks Chinese, and fits a telephone", async () => {
    tab = await stage.open({ locale: "zh-CN", width: 390, height: 844 });
    await tab.page.getByRole("heading", { name: "今天想做什么？" }).waitFor();
    await begin(tab, "make a note");
    await sees(tab, "It is done.");
    await rests(tab);
    const labels = await tab.page
      .locator("button, a, [role=button], input, textarea")
      .evaluateAll((elements) =>
        elements.map((element) => element.getAttribute("aria-label") ?? element.textContent ?? ""),
      );
    // What is not Chinese is a name, a path, or what was said.
    const foreign = labels.filter(
      (label) => /[a-z]{3}/iu.test(label) && !/make a note|note\.md|Millrace|agent/iu.test(label),
    );
    expect(foreign).toEqual([]);
    // Nothing stands beyond the edge, and what is touched is large enough.
    expect(Number(await tab.page.evaluate("document.documentElement.scrollWidth"))).toBeLessThanOrEqual(390);
    const rail = await tab.page
      .locator(".rail-item")
      .evaluateAll((items) =>
        items.map((item) => item.getBoundingClientRect()).map(({ width, height }) => Math.min(width, height)),
      );
    for (const size of rail) expect(size).toBeGreaterThanOrEqual(44);
    // The list comes over the page and goes with a choice.
    await tab.page.getByRole("button", { name: "显示对话列表" }).click();
    await tab.page.locator(".list-pane .thread-link").first().click();
    await tab.page.locator(".list-pane").waitFor({ state: "hidden" });
    await say(tab, "再见");
    await sees(tab, "You said: 再见");
  });

  it("names a control that the mouse rests on, and the one beside it next, within a landmark", async () => {
    tab = await stage.open();
    const controls = tab.page.locator("[data-tooltip]:visible");
    await controls.first().waitFor();
    for (const control of [controls.nth(0), controls.nth(1)]) {
      await control.hover();
      const name = (await control.getAttribute("aria-label")) ?? "";
      await tab.page.locator(".tooltip").getByText(name).waitFor();
      expect(await axeFindings(tab), name).toEqual([]);
    }
  });

  it("stops with Tab at one chat of the list, where the arrows go on", async () => {
    for (const name of ["first", "second"]) {
      const messages = [{ type: "human", id: name, content: name }];
      const exported = { format: "millrace.session", version: 1, session_name: name, graph_id: "agent", messages };
      expect((await stage.server.send("POST", "/threads/import", exported)).status).toBe(200);
    }
    tab = await stage.open();
    const stops = tab.page.locator('.thread-link[tabindex="0"], .thread-menu[tabindex="0"]');
    await tab.page.locator(".thread-link").nth(1).waitFor();
    expect(await stops.count()).toBe(2);
    const before = await stops.first().textContent();
    await stops.first().focus();
    await press(tab, "ArrowDown");
    await expect.poll(() => tab.page.locator(".thread-link:focus").textContent()).not.toBe(before);
    await expect.poll(() => stops.first().evaluate((link) => link === link.ownerDocument.activeElement)).toBe(true);
    expect(await stops.count()).toBe(2);
    // What the chat's menu offers is opened by key, and the focus comes back from it.
    await press(tab, "Tab", "ArrowDown");
    await tab.page.locator("[role=menuitem][data-active-item]").waitFor();
    await press(tab, "Escape");
    await tab.page.locator(".thread-menu:focus").waitFor();
  });

  it("says in its place that a page cannot be loaded, and loads it when that is asked for", async () => {
    tab = await stage.open();
    await tab.page.locator(".composer-field").waitFor();
    await tab.page.route("**/assets/graphs-page-*.js", (route) => route.abort());
    await tab.page.getByRole("link", { name: "Graphs" }).click();
    await tab.page.getByRole("alert").getByRole("heading", { level: 1 }).waitFor();
    expect(await tab.page.locator(".rail").isVisible()).toBe(true);
    await tab.page.unrouteAll();
    await tab.page.getByRole("alert").getByRole("button").click();
    await tab.page.locator(".graph-card").first().waitFor();
    expect(await tab.page.getByRole("alert").count()).toBe(0);
  });

  it("leaves Enter to the input method while it composes", async () => {
    tab = await stage.open();
    await begin(tab, "hello");
    await sees(tab, "You said: hello");
    await rests(tab);
    const field = tab.page.locator(".composer-field");
    await field.focus();
    const devtools = await tab.context.newCDPSession(tab.page);
    await devtools.send("Input.imeSetComposition", { text: "ni hao", selectionStart: 6, selectionEnd: 6 });
    // What an input method does with Enter: the key is reported as 229, and the letters become text.
    await devtools.send("Input.dispatchKeyEvent", { type: "rawKeyDown", key: "Process", windowsVirtualKeyCode: 229 });
    await devtools.send("Input.dispatchKeyEvent", { type: "keyUp", key: "Enter", windowsVirtualKeyCode: 13 });
    await field.dispatchEvent("keydown", { key: "Enter", keyCode: 229 });
    await field.dispatchEvent("keydown", { key: "Enter", isComposing: true });
    await devtools.send("Input.insertText", { text: "你好" });
    expect(await field.inputValue()).toBe("你好");
    expect(await shownTexts(tab)).toEqual(["hello", "You said: hello"]);
    await press(tab, "Enter");
    await sees(tab, "You said: 你好");
  });
});

describe.skipIf(chromiumPath === undefined)("the console of a server with keys", () => {
  let stage: Stage;
  let tab: Tab;
  beforeAll(async () => {
    stage = await openStage(answer, { apiKeys: [ada] });
  });
  afterAll(() => stage.close());
  afterEach(() => leave(tab));

  const signIn = async (key: string): Promise<void> => {
    await tab.page.getByLabel("Key", { exact: true }).fill(key);
    await tab.page.keyboard.press("Enter");
  };

  it("asks for the key, and loads nothing without one but its files", async () => {
    tab = await stage.open();
    await tab.page.getByRole("heading", { name: "Sign in" }).waitFor();
    const asked: string[] = [];
    tab.page.on("response", (response) => asked.push(new URL(response.url()).pathname));
    await tab.page.reload();
    await tab.page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(asked.filter((path) => !path.startsWith("/console/"))).toEqual(["/me"]);
    await signIn("another");
    await tab.page.getByRole("alert").getByText("The server does not accept this key.").waitFor();
    await signIn(ada.key);
    await begin(tab, "hello");
    await sees(tab, "You said: hello");
    expect(tab.page.url()).not.toContain(ada.key);
    // It is this tab's alone, until it is remembered.
    const other = await stage.open({ beside: tab });
    await other.page.getByRole("heading", { name: "Sign in" }).waitFor();
    await other.page.close();
    await tab.page.reload();
    await sees(tab, "You said: hello");
    await tab.page.getByRole("button", { name: /Signed in as ada/u }).click();
    await tab.page.getByRole("menuitem", { name: "Sign out" }).click();
    await tab.page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(await tab.page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }])")).not.toContain(
      ada.key,
    );
  });

  it("asks again above the page when the key is taken back, and keeps what was typed", async () => {
    tab = await stage.open();
    await signIn(ada.key);
    await begin(tab, "hello");
    await sees(tab, "You said: hello");
    await rests(tab);
    await tab.page.locator(".composer-field").fill("half a thought");
    await stage.restart({ apiKeys: [{ owner: "ada", key: "the next key" }] });
    // Without an action of the user.
    await tab.page.getByText("Your key is no longer valid.").waitFor();
    expect(await tab.page.locator(".composer-field").inputValue()).toBe("half a thought");
    await signIn("the next key");
    await tab.page.getByRole("heading", { name: "Sign in" }).waitFor({ state: "detached" });
    expect(await tab.page.locator(".composer-field").inputValue()).toBe("half a thought");
    await tab.page.locator(".composer-field").press("Enter");
    await sees(tab, "You said: half a thought");
  });
});
