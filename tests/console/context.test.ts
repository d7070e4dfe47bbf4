import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { ModelRequest } from "@millrace/testing/model-server";
import { begin, chromiumPath, leave, openStage, rests, say, sees, type Stage, type Tab } from "./console-page.ts";

describe.skipIf(chromiumPath === undefined)("what the model sees", () => {
  let stage: Stage;
  let tab: Tab;
  const asked: ModelRequest[] = [];
  beforeAll(async () => {
    stage = await openStage((request) => {
      asked.push(request);
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
    await page.getByRole("button", { name: "System prompt" }).click();
    await page.getByRole("button", { name: "identity" }).click();
    const identity = await page.getByRole("group", { name: "identity" }).innerText();
    expect(String(sent?.messages[0]?.content)).toContain(identity.trim());
    const request = page.getByRole("group", { name: "What the model was sent" });
    expect(JSON.parse(await request.innerText())).toMatchObject({ messages: sent?.messages });

    // A page that stays open is told of the next call.
    await page.getByRole("button", { name: "Open the chat" }).click();
    await say(tab, "and again");
    await sees(tab, "You said: and again");
    await rests(tab);
    await page.goBack();
    await page.getByText("The first 2 of 4 messages are unchanged.").waitFor();
    const added = page.locator('.diff [data-kind="added"]');
    await added.filter({ hasText: "and again" }).waitFor();
    expect(await page.locator('.diff [data-kind="removed"]').count()).toBe(0);
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
    const told = dialog.getByRole("status");
    const all = await told.innerText();
    const mark = marked.filter({ hasText: "one" }).first().getByRole("checkbox");
    await mark.check();
    await expect.poll(() => told.innerText()).not.toBe(all);
    await mark.uncheck();
    await expect.poll(() => told.innerText()).toBe(all);
    const calls = asked.length;
    await dialog.getByRole("button", { name: "Compress" }).click();
    await dialog.waitFor({ state: "detached" });
    await expect.poll(() => asked.length).toBeGreaterThan(calls);
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save as JSON" }).click();
    expect((await saved).suggestedFilename()).toBe(`context-${thread}.json`);
  });

  it("is nothing before the first call", async () => {
    const { thread_id } = await stage.server.client.threads.create();
    tab = await stage.open({ path: `/t/${thread_id}/context`, locale: "zh-CN" });
    await expect.poll(() => tab.page.locator(".blank-title").innerText()).toBe("还没有请求过模型");
  });
});
