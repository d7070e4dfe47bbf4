import { access, readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { ModelRequest, ModelStep } from "@millrace/testing/model-server";
import {
  begin,
  chromiumPath,
  editLast,
  leave,
  openStage,
  rests,
  say,
  sees,
  shownTexts,
  storedTexts,
  type Stage,
  type Tab,
} from "../console-page.ts";

/** More changes than the page loads at once. */
const manyFiles = 104;
let held = Promise.withResolvers<void>();
let fails = false;

async function answer({ messages }: ModelRequest): Promise<ModelStep> {
  const at = messages.findLastIndex(({ role }) => role === "user");
  const last = String(messages[at]?.content);
  if (last === "wait") await held.promise;
  if (last === "fail" && fails) return { fault: { kind: "status", status: 400 } };
  const done = messages.slice(at).filter(({ role }) => role === "tool").length;
  if (last === "make many notes" && done < manyFiles) {
    const names = Array.from({ length: 26 }, (_, index) => `note-${done + index}.md`);
    return { toolCalls: names.map((path) => ({ name: "create_file", arguments: { path, content: "one\n" } })) };
  }
  if (last === "a long one") return { text: "A line.\n\n".repeat(60) };
  return { text: `You said: ${last}` };
}

let stage: Stage;
let tab: Tab;

describe.skipIf(chromiumPath === undefined)("what a chat keeps when something goes wrong", () => {
  beforeAll(async () => {
    stage = await openStage(answer);
  });
  afterAll(() => stage.close());
  afterEach(() => leave(tab));

  it("a stop that did not arrive can be asked for again (STOP-17)", async () => {
    held = Promise.withResolvers();
    tab = await stage.open();
    const { page } = tab;
    await begin(tab, "wait");
    const stop = page.getByRole("button", { name: "Stop", exact: true });
    await stop.waitFor();
    await page.route("**/cancel", (route) => route.abort());
    await stop.click();
    await page.locator(".toast").first().waitFor();
    await page.unroute("**/cancel");
    await stop.click();
    await rests(tab);
    expect(await stop.count()).toBe(0);
    held.resolve();
  });

  it("a run that was just begun can be stopped, whatever the server had said before it (STOP-17)", async () => {
    held = Promise.withResolvers();
    tab = await stage.open();
    const { page } = tab;
    const thread = await begin(tab, "first");
    await rests(tab);
    const early = Promise.withResolvers<void>();
    await page.route(
      "**/status",
      async (route) => {
        const response = await route.fetch();
        await early.promise;
        await route.fulfill({ response });
      },
      { times: 1 },
    );
    const asked = page.waitForRequest("**/status");
    await stage.server.send("PATCH", `/threads/${thread}`, { metadata: { changed: true } });
    await asked;
    await say(tab, "wait");
    await page.locator(".stop-button").waitFor();
    await page.evaluate(`
      window.gone = 0;
      new MutationObserver((changes) => {
        for (const { removedNodes } of changes) for (const node of removedNodes) {
          if (node.matches?.(".stop-button")) window.gone += 1;
        }
      }).observe(document.body, { childList: true, subtree: true });
    `);
    const isWorking = page.waitForResponse(
      async (response) => response.url().endsWith("/status") && (await response.text()).includes('"is_loading":true'),
    );
    early.resolve();
    await isWorking;
    await page.locator(".stop-button").waitFor();
    held.resolve();
    await sees(tab, "You said: wait");
    await rests(tab);
    expect(await page.evaluate("window.gone")).toBe(1);
  });

  it("an edit whose answer was lost is one version", async () => {
    tab = await stage.open();
    const { page } = tab;
    const thread = await begin(tab, "hello");
    await sees(tab, "You said: hello");
    await rests(tab);
    // Nothing of what the server has taken reaches the page until the person has tried again.
    let isReceiving = true;
    await page.routeWebSocket(`**/threads/${thread}/stream/events`, (socket) => {
      const server = socket.connectToServer();
      server.onMessage((message) => {
        if (isReceiving) socket.send(message);
      });
    });
    await page.route(`**/threads/${thread}/messages?*`, (route) => (isReceiving ? route.continue() : route.abort()));
    await page.reload();
    await sees(tab, "You said: hello");
    const edit = page.locator(".edit-message textarea");
    await editLast(tab);
    await edit.fill("hello again");
    await page.route(
      "**/rerun",
      async (route) => {
        isReceiving = false;
        await route.fetch();
        await route.abort();
      },
      { times: 1 },
    );
    await page.keyboard.press("Enter");
    await page.locator(".toast-error").waitFor();
    const again = page.waitForResponse("**/rerun");
    await edit.press("Enter");
    expect((await again).status()).toBe(200);
    isReceiving = true;
    await page.reload();
    await sees(tab, "You said: hello again");
    await rests(tab);
    expect(await stage.server.client.runs.list(thread)).toHaveLength(2);
    expect(await storedTexts(stage, thread)).toEqual(["hello again", "You said: hello again"]);
  });

  it("a message without an answer is sent before the one that follows", async () => {
    tab = await stage.open();
    const { page } = tab;
    const thread = await begin(tab, "hello");
    await sees(tab, "You said: hello");
    await rests(tab);
    await page.route("**/commands", (route) => route.abort(), { times: 1 });
    await say(tab, "first");
    await page.locator('.user-message[data-state="failed"]').waitFor();
    await say(tab, "second");
    await sees(tab, "You said: second");
    await rests(tab);
    const texts = ["hello", "first", "second"];
    expect(await storedTexts(stage, thread)).toEqual(texts.flatMap((text) => [text, `You said: ${text}`]));
  });

  it("the conversation stays when it cannot be read again, and says so", async () => {
    tab = await stage.open();
    const { page } = tab;
    const thread = await begin(tab, "hello");
    await sees(tab, "You said: hello");
    await rests(tab);
    const failed = (url: URL): boolean => url.pathname === `/threads/${thread}/operations`;
    await page.route(failed, (route) => route.fulfill({ status: 500, json: { error: "x", message: "It broke." } }));
    await stage.server.send("PATCH", `/threads/${thread}/info`, { name: "Another name" });
    const bar = page.locator(".error-bar");
    await bar.filter({ hasText: "It broke." }).waitFor();
    expect(await shownTexts(tab)).toEqual(["hello", "You said: hello"]);
    await page.unroute(failed);
    await bar.getByRole("button", { name: "Try again" }).click();
    await bar.waitFor({ state: "detached" });
  });

  it("a run that failed says why, and is tried again", async () => {
    fails = true;
    tab = await stage.open();
    await begin(tab, "fail");
    const bar = tab.page.locator(".error-bar");
    await bar.waitFor();
    await rests(tab);
    fails = false;
    await bar.getByRole("button", { name: "Try again" }).click();
    await sees(tab, "You said: fail");
    await rests(tab);
    expect(await shownTexts(tab)).toEqual(["fail", "You said: fail"]);
    await tab.page.getByRole("button", { name: "Open the run" }).click();
    await tab.page.locator('.run-head .run-state[data-status="success"]').waitFor();
  });

  it("attached files and the chosen model stay over a reload and for the messages after", async () => {
    tab = await stage.open();
    const { page } = tab;
    const models = [{ name: "openai:scripted" }, { name: "openai:other" }];
    await page.route("**/models", (route) => route.fulfill({ json: { models } }));
    const asked: unknown[] = [];
    await page.route("**/commands", async (route) => {
      const body: unknown = route.request().postDataJSON();
      asked.push(body);
      await route.abort();
    });
    const { thread_id } = await stage.server.client.threads.create();
    await page.goto(`${stage.server.url}/console/t/${thread_id}`);
    await page.getByRole("button", { name: "Model: The server’s model" }).click();
    await page.getByRole("menuitem", { name: "openai:other" }).click();
    await page.getByRole("button", { name: "Attach a file" }).click();
    await page.getByLabel("Path in the workspace").fill("docs/plan.md");
    await page.keyboard.press("Enter");
    await page.reload();
    await page.locator(".composer .attachment").filter({ hasText: "docs/plan.md" }).waitFor();
    await page.getByRole("button", { name: "Model: openai:other" }).waitFor();
    await say(tab, "look");
    const params = { context: { model: "openai:other" } };
    const attachments = [{ path: "docs/plan.md", name: "plan.md", type: "file" }];
    await expect.poll(() => asked[0]).toMatchObject({ params });
    expect(asked[0]).toMatchObject({ params: { input: { messages: [{ additional_kwargs: { attachments } }] } } });
    await page.getByRole("button", { name: "Model: openai:other" }).waitFor();
  });

  it("what one says is seen at once, wherever one has scrolled to (UI-04)", async () => {
    tab = await stage.open();
    const { page } = tab;
    await begin(tab, "a long one");
    await sees(tab, "A line.");
    await rests(tab);
    await page.locator(".conversation").evaluate((element) => element.scrollTo(0, 0));
    await page.getByRole("button", { name: "Go to the end" }).waitFor();
    await say(tab, "and now");
    await sees(tab, "You said: and now");
    await expect.poll(() => page.getByRole("button", { name: "Go to the end" }).count()).toBe(0);
  });

  it("everything since a message is taken back, also what the page has not loaded (UI-12)", async () => {
    tab = await stage.open();
    const { page } = tab;
    await begin(tab, "make many notes");
    await sees(tab, "You said: make many notes");
    await rests(tab);
    const notes = async (): Promise<number> =>
      (await readdir(stage.server.config.workspace)).filter((name) => name.startsWith("note-")).length;
    expect(await notes()).toBe(manyFiles);
    await page.locator(".conversation").evaluate((element) => element.scrollTo(0, 0));
    await page.getByRole("button", { name: "Undo everything since here" }).first().click();
    const dialog = page.getByRole("dialog");
    await expect.poll(() => dialog.getByRole("listitem").count()).toBe(manyFiles);
    await dialog.getByRole("button", { name: "Undo" }).click();
    await expect.poll(notes).toBe(0);
    await expect(access(join(stage.server.config.workspace, "note-0.md"))).rejects.toThrow("ENOENT");
  });
});
