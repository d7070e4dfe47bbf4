import { mkdtemp, mkdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CDPSession } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { FaultProxy } from "@millrace/testing/fault-proxy";
import { startModelServer, type ModelRequest, type ModelServer, type ModelStep } from "@millrace/testing/model-server";
import { sharedChromium } from "../../support/pages/browser-page.ts";
import { ServerProcess } from "../../support/processes/server-process.ts";
import { begin, chromiumPath, say, sees, shownTexts, whenServed, type Tab } from "../console-page.ts";

/** Losses that are tried; `LOSSES=200` for the whole of it. `SEED` repeats what a failure printed. */
const losses = Number(process.env["LOSSES"] ?? 10);
const seed = Number(process.env["SEED"] ?? Math.floor(Math.random() * 1e9));

/** Numbers from 0 to 1 that a seed repeats (mulberry32). */
function randomOf(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const kinds = ["reload", "cut", "freeze", "kill", "kill and reload", "cut and reload"] as const;
type Kind = (typeof kinds)[number];

const words = Array.from({ length: 24 }, (_, index) => `word${index}`);
/** Where the model stops in its answer until the loss is over; asked again, it comes one word further. */
let hold = { after: 0, until: Promise.resolve() };
/** The text that was asked for last, and whether it was asked for again. */
let asked = { text: "", again: false };
const chunksOf = (text: string): string[] => [`Answer to ${text}:`, ...words.map((word) => ` ${word}`)];

function answer({ messages }: ModelRequest): ModelStep {
  const at = messages.findLastIndex(({ role }) => role === "user");
  const last = String(messages[at]?.content);
  const hasResult = messages.slice(at).some(({ role }) => role === "tool");
  if (last.includes("list") && !hasResult) {
    return { text: `I look for ${last}.`, toolCalls: [{ name: "list_files", arguments: { path: "" } }] };
  }
  const chunks = chunksOf(last);
  asked = { text: last, again: asked.text === last };
  return { chunks, text: chunks.join(""), hold: asked.again ? { ...hold, after: hold.after + 1 } : hold };
}

const Stored = z.object({ messages: z.array(z.object({ id: z.string(), role: z.string(), content: z.string() })) });

describe.skipIf(chromiumPath === undefined)("what is lost in the middle of a run", () => {
  let folder: string;
  let model: ModelServer;
  let server: ServerProcess;
  let proxy: FaultProxy;
  let tab: Tab;
  let devtools: CDPSession;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-losses-"));
    await mkdir(join(folder, "workspace"));
    model = await startModelServer({ handler: answer, record: false });
    server = new ServerProcess(folder, join(folder, "workspace"));
    server.configure({
      MILLRACE_CONSOLE: "on",
      MILLRACE_MODEL: "openai:scripted",
      OPENAI_API_KEY: "test-key",
      OPENAI_BASE_URL: model.url,
      OLLAMA_BASE_URL: "http://127.0.0.1:2",
    });
    await server.start();
    proxy = await new FaultProxy(
      () => server.port,
      () => ({ kind: "none" }),
    ).listen();
    await whenServed(proxy.url);
    const browser = await sharedChromium(chromiumPath ?? "");
    const context = await browser.newContext({ viewport: { width: 1280, height: 2000 } });
    const page = await context.newPage();
    const problems: string[] = [];
    page.on("pageerror", (error) => problems.push(error.message));
    tab = { page, context, problems, release: () => context.close() };
    devtools = await context.newCDPSession(page);
    await page.goto(`${proxy.url}/console/`);
  });
  afterAll(async () => {
    await tab.release();
    await proxy.close();
    await server.stop();
    await model.close();
    await rm(folder, { recursive: true, force: true });
  });

  const stored = async (thread: string): Promise<string[]> => {
    const response = await fetch(`${server.url}/threads/${thread}/messages?limit=200`);
    const { messages } = Stored.parse(await response.json());
    expect(new Set(messages.map(({ id }) => id)).size).toBe(messages.length);
    return messages.filter(({ role, content }) => role !== "tool" && content !== "").map(({ content }) => content);
  };
  const isIdle = async (thread: string): Promise<boolean> => {
    const response = await fetch(`${server.url}/threads/${thread}/runs?limit=10`);
    const runs = z.array(z.object({ status: z.string() })).parse(await response.json());
    return runs.every(({ status }) => status === "success");
  };

  /** Does to the page or the server what must lose nothing. */
  const lose = async (kind: Kind): Promise<void> => {
    switch (kind) {
      case "reload":
        await tab.page.reload();
        break;
      case "cut":
        proxy.cut();
        break;
      case "freeze":
        await devtools.send("Page.setWebLifecycleState", { state: "frozen" });
        break;
      case "kill":
      case "kill and reload":
        await server.kill();
        await server.start();
        if (kind === "kill and reload") await tab.page.reload();
        break;
      case "cut and reload":
        proxy.cut();
        await tab.page.reload();
        proxy.cut();
    }
  };

  it(`shows each text once after ${losses} of them`, { timeout: 60_000 + losses * 20_000 }, async () => {
    const random = randomOf(seed);
    for (let round = 0; round < losses; round += 1) {
      const kind =
        round < kinds.length ? (kinds[round] ?? "reload") : (kinds[Math.floor(random() * kinds.length)] ?? "reload");
      const name = `seed ${seed}, round ${round}, ${kind}`;
      const gate = Promise.withResolvers<void>();
      hold = { after: Math.floor(random() * words.length), until: gate.promise };
      const text = `${random() < 0.5 ? "list" : "tell"} ${round}`;
      if (round % 5 === 0) await tab.page.goto(`${proxy.url}/console/`);
      const isNew = round % 5 === 0;
      const thread = isNew ? await begin(tab, text) : (new URL(tab.page.url()).pathname.split("/").at(-1) ?? "");
      if (!isNew) await say(tab, text);
      if (hold.after > 0) await sees(tab, `Answer to ${text}:`);
      await lose(kind);
      if (kind.startsWith("kill") && hold.after > 0) {
        // The words of the attempt that was lost make room for those of the next one, and not only when it is over.
        const again = chunksOf(text)
          .slice(0, hold.after + 1)
          .join("");
        const begun = async () => (await shownTexts(tab)).filter((shown) => shown.startsWith(`Answer to ${text}:`));
        await expect.poll(begun, { message: name, timeout: 30_000 }).toEqual([again]);
      }
      // Some of it goes on while the page is away, some after it is back.
      if (random() < 0.5) gate.resolve();
      if (kind === "freeze") await devtools.send("Page.setWebLifecycleState", { state: "active" });
      gate.resolve();
      // A message that had not arrived is sent again after the loss.
      const newest = async () => ((await isIdle(thread)) ? (await stored(thread)).at(-1) : undefined);
      const answered = `Answer to ${text}: ${words.join(" ")}`;
      await expect.poll(newest, { message: name, timeout: 30_000 }).toBe(answered);
      const whole = await stored(thread);
      await expect.poll(() => shownTexts(tab), { message: name, timeout: 40_000 }).toEqual(whole);
      await tab.page.locator(".stop-button").waitFor({ state: "detached" });
      expect(await shownTexts(tab), name).toEqual(whole);
    }
    expect(tab.problems).toEqual([]);
  });
});
