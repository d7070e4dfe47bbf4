import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findChromium, openBrowserPage, startPageServer, type PageServer } from "../support/pages/browser-page.ts";
import type { ChatPage, Shown } from "../support/pages/chat-page.ts";
import { openHeadlessPage } from "../support/pages/headless-page.ts";
import { startModelServer, type ModelServer, type ModelStep } from "@millrace/testing/model-server";
import { projectFolder } from "../support/source-files.ts";
import type { HookName } from "../support/pages/stream-hooks.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";

const story = "Once upon a time there was a small mill at a river that turned by day and by night. ".repeat(3).trim();
const rest = "And it turns to this day.";

let model: ModelServer;
let server: TestServer;
let pages: PageServer;
/** Where the model waits in the middle of its story. */
let pause = Promise.withResolvers<void>();

beforeAll(async () => {
  pages = await startPageServer();
  model = await startModelServer({
    handler: ({ messages }): ModelStep => {
      const last = messages.at(-1);
      if (last?.role === "tool") return { text: "The file is gone." };
      if (!String(last?.content).includes("story")) {
        return { text: "I remove it.", toolCalls: [{ name: "delete_file", arguments: { path: "old.txt" } }] };
      }
      return { chunks: [story, " ", rest], text: `${story} ${rest}`, hold: { after: 1, until: pause.promise } };
    },
  });
  server = await startTestServer({
    graphs: join(projectFolder, "langgraph.json"),
    model: "openai:scripted",
    openai: { apiKey: "test-key", baseUrl: model.url },
    corsOrigins: [pages.url],
  });
});
afterAll(async () => {
  pause.resolve();
  await Promise.all([server.remove(), pages.close()]);
  await model.close();
});

/** Waits until the page shows what is looked for. */
async function until(page: ChatPage, isThere: (screen: Shown) => boolean): Promise<Shown> {
  let found: Shown | undefined;
  const look = async (): Promise<boolean> => {
    found = (await page.shown()).at(-1);
    return found !== undefined && isThere(found);
  };
  await expect.poll(look, { timeout: 20_000 }).toBe(true);
  if (found === undefined) throw new Error("nothing is shown");
  return found;
}

/** No message stands twice in anything the page has shown. */
async function expectNothingTwice(page: ChatPage): Promise<void> {
  for (const { messages } of await page.shown()) {
    const ids = messages.map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)]);
  }
}

/** The messages of the thread as the server has them. */
async function stored(threadId: string): Promise<Shown["messages"]> {
  const { values } = await server.client.threads.getState<{
    messages: { id: string; type: string; content: string }[];
  }>(threadId);
  return values.messages.map(({ id, type, content }) => ({ id, type, text: content }));
}

const hookNames: HookName[] = ["@langchain/langgraph-sdk/react", "@langchain/react", "@langchain/langgraph-sdk/stream"];
const chromium = findChromium();

describe.each([
  ["in a headless DOM", true, async (hook: HookName) => openHeadlessPage(hook, server.url, "agent")],
  [
    "in Chromium",
    chromium !== undefined,
    async (hook: HookName) => openBrowserPage(pages, chromium ?? "", hook, server.url, "agent"),
  ],
] as const)("a chat page %s", (_, isPossible, open) => {
  describe.skipIf(!isPossible).each(hookNames)("with useStream of %s", (hook) => {
    it("takes a call, a question, a stop and reloads in the middle, with no message doubled or lost", async () => {
      pause = Promise.withResolvers<void>();
      await writeFile(join(server.config.workspace, "old.txt"), "old");
      const page = await open(hook);
      try {
        await until(page, ({ isLoading }) => !isLoading);
        await page.act("send", "Tidy up the workspace");
        await until(page, ({ question, isLoading }) => question !== undefined && !isLoading);
        await expectNothingTwice(page);

        await page.reload();
        const asked = await until(page, ({ question, messages }) => question !== undefined && messages.length > 0);
        expect(asked.messages[0]).toMatchObject({ type: "human", text: "Tidy up the workspace" });
        await page.act("approve");
        const done = await until(page, ({ messages, isLoading }) => !isLoading && messages.length === 4);
        expect(done.messages.map(({ type, text }) => [type, text])).toEqual([
          ["human", "Tidy up the workspace"],
          ["ai", "I remove it."],
          ["tool", "Deleted old.txt."],
          ["ai", "The file is gone."],
        ]);
        await expectNothingTwice(page);
        expect(done.messages).toEqual(await stored(page.threadId()));

        await page.act("send", "Tell me a story");
        const isStreaming = ({ messages, isLoading }: Shown): boolean => isLoading && messages.at(-1)?.text === story;
        await until(page, isStreaming);
        await page.reload();
        expect((await until(page, isStreaming)).messages).toHaveLength(6);
        pause.resolve();
        const shown = await until(page, ({ messages, isLoading }) => !isLoading && messages.at(-1)?.text !== story);
        expect(shown.messages.at(-1)?.text).toBe(`${story} ${rest}`);
        await expectNothingTwice(page);
        expect(shown.messages).toEqual(await stored(page.threadId()));

        pause = Promise.withResolvers<void>();
        await page.act("send", "Tell me another story");
        await until(page, isStreaming);
        await page.act("stop");
        const status = async (): Promise<string> => (await server.client.threads.get(page.threadId())).status;
        await expect.poll(status).toBe("idle");
        const kept = await stored(page.threadId());
        expect(kept.map(({ type }) => type).slice(-2)).toEqual(["human", "ai"]);
        expect(kept.at(-1)?.text).toContain(story);
        await expectNothingTwice(page);
        await page.reload();
        const last = await until(page, ({ messages, isLoading }) => !isLoading && messages.length === kept.length);
        expect(last.messages).toEqual(kept);
        await expectNothingTwice(page);
        expect(last.error).toBeUndefined();
      } finally {
        await page.close();
      }
    });
  });
});
