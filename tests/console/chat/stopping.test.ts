import type { Route } from "playwright-core";
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

  /** Lets a run work, and two messages wait behind it. */
  const queueTwo = async (): Promise<string> => {
    tab = await stage.open();
    const thread = await begin(tab, "wait first");
    for (const [at, text] of ["wait second", "wait third"].entries()) {
      await say(tab, text);
      await expect.poll(() => tab.page.locator(".queue li").count()).toBe(at + 1);
    }
    return thread;
  };
  /** The first run ends, and the next one works, right before the page's cancel of the next one reaches the server. */
  const beginBeforeCancel = async (thread: string): Promise<string> => {
    const runs = await stage.server.client.runs.list(thread);
    const next = runs.at(-2)?.run_id ?? "";
    await tab.page.route(`**/runs/${next}/cancel*`, async (route) => {
      held.resolve();
      held = Promise.withResolvers();
      await expect.poll(async () => (await stage.server.client.runs.get(thread, next)).status).not.toBe("pending");
      await route.continue();
    });
    return next;
  };

  it("a message that is moved up comes back into the field where the server refuses it then", async () => {
    await queueTwo();
    const { page } = tab;
    const field = page.locator(".composer-field");
    await page.route(
      "**/commands",
      async (route) => {
        // Others fill the queue between the cancel and the new run.
        const input = { messages: [{ role: "user", content: "by others" }] };
        for (let count = 0; count < 3; count += 1) {
          const { thread_id } = await stage.server.client.threads.create();
          await stage.server.client.runs.create(thread_id, "agent", { input });
        }
        await route.continue();
      },
      { times: 1 },
    );
    await page.getByRole("button", { name: "Move up" }).click();
    await expect
      .poll(async () => (await field.inputValue()).split("\n").toSorted())
      .toEqual(["wait second", "wait third"]);
    await page.locator(".toast-error").first().waitFor();
    expect(await page.evaluate("Object.keys(localStorage).filter((key) => key.includes('unsent'))")).toEqual([]);
  });

  it.each(["Move up", "Edit this message"])(
    "a message that begins right before is not stopped, and said once: %s",
    async (name) => {
      const thread = await queueTwo();
      const { page } = tab;
      const next = await beginBeforeCancel(thread);
      const answered = page.waitForResponse((response) => response.url().includes(`/runs/${next}/cancel`));
      const row = page.locator(".queue li").nth(name === "Move up" ? 1 : 0);
      await row.getByRole("button", { name }).click();
      const refusal = await answered;
      held.resolve();
      await sees(tab, "You said: wait third");
      await rests(tab);
      const texts = ["wait first", "wait second", "wait third"];
      expect(await storedTexts(stage, thread)).toEqual(texts.flatMap((text) => [text, `You said: ${text}`]));
      expect(await page.locator(".composer-field").inputValue()).toBe("");
      expect(refusal.status()).toBe(409);
    },
  );

  /** Lets the next cancel reach the server, whose answer the page does not get. */
  const loseAnswer = async (by: "network" | "reload" | "delay"): Promise<void> => {
    await tab.page.route(
      "**/cancel*",
      async (route) => {
        await route.fetch();
        if (by === "network") await route.abort();
        else if (by === "reload") void tab.page.reload();
      },
      { times: 1 },
    );
  };

  it.each(["network", "reload"] as const)(
    "a message that is edited is in the field where the answer is lost by the %s",
    async (by) => {
      const thread = await queueTwo();
      const { page } = tab;
      await loseAnswer(by);
      const first = page.locator(".queue li").first();
      await first.getByRole("button", { name: "Edit this message" }).click();
      await expect.poll(() => page.locator(".composer-field").inputValue()).toBe("wait second");
      await expect.poll(() => page.locator(".queue li").allInnerTexts()).toEqual(["wait third"]);
      held.resolve();
      await sees(tab, "You said: wait third");
      await rests(tab);
      const texts = ["wait first", "wait third"];
      expect(await storedTexts(stage, thread)).toEqual(texts.flatMap((text) => [text, `You said: ${text}`]));
    },
  );

  it.each(["request", "answer"])("a message that is removed is not said where the %s is lost", async (lost) => {
    const thread = await queueTwo();
    const { page } = tab;
    const rows = page.locator(".queue li");
    const cancel = async (route: Route): Promise<void> => {
      if (lost === "answer") await route.fetch();
      await route.abort();
    };
    await page.route("**/cancel*", cancel, { times: 1 });
    await rows.first().getByRole("button", { name: "Remove from the queue" }).click();
    await expect.poll(() => rows.allInnerTexts()).toEqual(["wait third"]);
    // It is done, and nothing says that it was not.
    expect(await page.locator(".toast-error").count()).toBe(0);
    held.resolve();
    await sees(tab, "You said: wait third");
    await rests(tab);
    const texts = ["wait first", "wait third"];
    expect(await storedTexts(stage, thread)).toEqual(texts.flatMap((text) => [text, `You said: ${text}`]));
    const unsent = "Object.keys(localStorage).filter((key) => key.includes('unsent'))";
    await expect.poll(() => page.evaluate(unsent)).toEqual([]);
    expect(await page.locator(".composer-field").inputValue()).toBe("");
  });

  it("a second press in haste does not stop what begins after the first one", async () => {
    tab = await stage.open();
    const { page } = tab;
    const thread = await begin(tab, "wait first");
    await say(tab, "wait second");
    await page.locator(".queue li").waitFor();
    let stops = 0;
    await page.route("**/runs?status=running*", async (route) => {
      stops += 1;
      if (stops === 2) await expect.poll(() => statusesOf(thread)).toEqual(["interrupted", "running"]);
      await route.continue();
    });
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await expect.poll(() => statusesOf(thread)).toEqual(["interrupted", "running"]);
    expect(stops).toBe(1);
    held.resolve();
    await sees(tab, "You said: wait second");
    await rests(tab);
    expect(await statusesOf(thread)).toEqual(["interrupted", "success"]);
  });

  it("a message that a stop takes out of the queue is in the field where the answer is lost", async () => {
    tab = await stage.open();
    const { page } = tab;
    await begin(tab, "hello");
    await rests(tab);
    const { thread_id: other } = await stage.server.client.threads.create();
    const input = { messages: [{ role: "user", content: "wait" }] };
    await stage.server.client.runs.create(other, "agent", { input });
    await say(tab, "to be said later");
    await page.locator(".queue li").waitFor();
    await loseAnswer("network");
    await page.keyboard.press("Escape");
    await expect.poll(() => page.locator(".composer-field").inputValue()).toBe("to be said later");
    await page.locator(".queue").waitFor({ state: "detached" });
  });

  it.each(["reload", "another tab"])(
    "a message that is moved up is said once whatever comes between: %s",
    async (what) => {
      const thread = await queueTwo();
      const { page } = tab;
      await loseAnswer(what === "reload" ? "reload" : "delay");
      const arrived = page.waitForRequest("**/cancel*");
      await page.getByRole("button", { name: "Move up" }).click();
      await arrived;
      if (what === "another tab") await stage.open({ beside: tab, path: `/t/${thread}` });
      await expect.poll(() => page.locator(".queue li").allInnerTexts()).toEqual(["wait third", "wait second"]);
      held.resolve();
      await sees(tab, "You said: wait second");
      await rests(tab);
      const texts = ["wait first", "wait third", "wait second"];
      expect(await storedTexts(stage, thread)).toEqual(texts.flatMap((text) => [text, `You said: ${text}`]));
    },
  );

  it("what other clients have put into the queue is shown, and edited only where nothing of it is lost", async () => {
    tab = await stage.open();
    const thread = await begin(tab, "wait first");
    const userMessage = (content: unknown): object => ({ role: "user", content });
    for (const messages of [
      [userMessage("one")],
      [userMessage([{ type: "text", text: "in blocks" }])],
      [userMessage("one of two"), userMessage("two of two")],
    ]) {
      const input = { messages };
      await stage.server.client.runs.create(thread, "agent", { input, multitaskStrategy: "enqueue" });
    }
    const rows = tab.page.locator(".queue li");
    await expect.poll(() => rows.allInnerTexts()).toEqual(["one", "in blocks", "one of two two of two"]);
    const edits = await Promise.all(
      (await rows.all()).map((row) => row.getByRole("button", { name: "Edit this message" }).count()),
    );
    expect(edits).toEqual([1, 0, 0]);
  });
});
