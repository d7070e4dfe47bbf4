import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import {
  begin,
  chromiumPath,
  editLast,
  leave,
  openStage,
  rests,
  say,
  sees,
  storedTexts,
  type Stage,
  type Tab,
} from "../console-page.ts";

describe.skipIf(chromiumPath === undefined)("what got no answer", () => {
  let stage: Stage;
  let tab: Tab;
  beforeAll(async () => {
    stage = await openStage(({ messages }) => ({
      text: `You said: ${String(messages.findLast(({ role }) => role === "user")?.content)}`,
    }));
  });
  afterAll(() => stage.close());
  afterEach(() => leave(tab));

  it("is one version where a message was edited", async () => {
    tab = await stage.open();
    const { page } = tab;
    const thread = await begin(tab, "hello");
    await sees(tab, "You said: hello");
    await rests(tab);
    // Nothing of what the server has taken reaches the page until the person has tried again.
    let isConnected = true;
    await page.routeWebSocket(`**/threads/${thread}/stream/events`, (socket) => {
      const server = socket.connectToServer();
      server.onMessage((message) => {
        if (isConnected) socket.send(message);
      });
    });
    await page.route(`**/threads/${thread}/messages?*`, (route) => (isConnected ? route.continue() : route.abort()));
    await page.reload();
    await sees(tab, "You said: hello");
    const edit = page.locator(".edit-message textarea");
    await editLast(tab);
    await edit.fill("hello again");
    await page.route(
      "**/rerun",
      async (route) => {
        isConnected = false;
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
    isConnected = true;
    await page.reload();
    await sees(tab, "You said: hello again");
    await rests(tab);
    expect(await stage.server.client.runs.list(thread)).toHaveLength(2);
    expect(await storedTexts(stage, thread)).toEqual(["hello again", "You said: hello again"]);
  });

  it("is said before what is said after it", async () => {
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
});
