import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { ModelRequest, ModelStep } from "@millrace/testing/model-server";
import {
  begin,
  chromiumPath,
  leave,
  openStage,
  rests,
  say,
  sees,
  storedTexts,
  type Stage,
  type Tab,
} from "../console-page.ts";

let held = Promise.withResolvers<void>();

async function answer({ messages }: ModelRequest): Promise<ModelStep> {
  const last = String(messages.findLast(({ role }) => role === "user")?.content);
  if (last.startsWith("wait")) await held.promise;
  return { text: `You said: ${last}` };
}

describe.skipIf(chromiumPath === undefined)("messages that wait", () => {
  let stage: Stage;
  let tab: Tab;
  beforeAll(async () => {
    // One run works, all others wait.
    stage = await openStage(answer, { maxConcurrentRuns: 1, queueLimit: 3 });
  });
  afterAll(() => stage.close());
  afterEach(async () => {
    held.resolve();
    await leave(tab);
    const isIdle = async (): Promise<boolean> =>
      (await stage.server.client.threads.search({ status: "busy" })).length === 0;
    await vi.waitUntil(isIdle, { timeout: 20_000, interval: 50 });
    held = Promise.withResolvers();
  });

  const statusesOf = async (thread: string): Promise<string[]> =>
    (await stage.server.client.runs.list(thread)).map(({ status }) => status).toReversed();

  it("a stop before the server has answered stops what is being asked for (STOP-17)", async () => {
    tab = await stage.open();
    const { page } = tab;
    const thread = await begin(tab, "hello");
    await rests(tab);
    const passed = Promise.withResolvers<void>();
    await page.route("**/commands", async (route) => {
      await passed.promise;
      await route.continue();
    });
    await say(tab, "wait");
    await page.locator(".stop-button").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Stopping" }).waitFor();
    passed.resolve();
    await rests(tab);
    await expect.poll(() => statusesOf(thread)).toEqual(["success", "interrupted"]);
    expect(await page.locator(".composer-field").inputValue()).toBe("");
  });

  it("a stop of what has not begun gives it back, and what works elsewhere goes on", async () => {
    tab = await stage.open();
    const { page } = tab;
    const thread = await begin(tab, "hello");
    await rests(tab);
    const { thread_id: other } = await stage.server.client.threads.create();
    const input = { messages: [{ role: "user", content: "wait" }] };
    await stage.server.client.runs.create(other, "agent", { input });
    await say(tab, "to be said later");
    await page.locator(".queue li").waitFor();
    await page.keyboard.press("Escape");
    await rests(tab);
    await expect.poll(() => page.locator(".composer-field").inputValue()).toBe("to be said later");
    await page.locator(".queue").waitFor({ state: "detached" });
    expect(await statusesOf(thread)).toEqual(["success", "interrupted"]);
    expect(await statusesOf(other)).toEqual(["running"]);
    held.resolve();
    await page.locator(".composer-field").press("Enter");
    await sees(tab, "You said: to be said later");
    await rests(tab);
    expect(await storedTexts(stage, thread)).toEqual([
      "hello",
      "You said: hello",
      "to be said later",
      "You said: to be said later",
    ]);
  });
});
