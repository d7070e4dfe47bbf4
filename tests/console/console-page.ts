import { join } from "node:path";
import axe from "axe-core";
import type { BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { expect, vi } from "vitest";
import { z } from "zod";
import { startModelServer, type ModelServer, type ModelServerOptions } from "@millrace/testing/model-server";
import type { Config } from "@millrace/engine/config/config";
import { findChromium, sharedChromium } from "../support/pages/browser-page.ts";
import { projectFolder } from "../support/source-files.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";

/** Where Chromium is; the flows are skipped on a machine without one. */
export const chromiumPath = findChromium();

/** A server with the built console, a scripted model, and a browser for both. */
export interface Stage {
  server: TestServer;
  model: ModelServer;
  /** Stops the server and starts it again on its data and at its address, with what is changed in its configuration. */
  restart(changes?: Partial<Config>): Promise<void>;
  /** A tab of a person of its own: nothing is shared with other tabs but the server. */
  open(options?: TabOptions): Promise<Tab>;
  close(): Promise<void>;
}

/** How a tab is opened. */
export interface TabOptions {
  path?: string;
  width?: number;
  height?: number;
  locale?: "en" | "zh-CN";
  theme?: "light" | "dark";
  /** A second tab of the same person. */
  beside?: Tab;
}

/** A page of the console, with what must not happen in it. */
export interface Tab {
  page: Page;
  context: BrowserContext;
  /** Violations of the policy, errors of scripts, dialogs, and requests to other hosts, as they come. */
  problems: string[];
  /** Closes the tab, or empties it for the next test to which `open` gives it. */
  release(): Promise<void>;
}

/** Starts all three. The console is built by the first server that is asked for it. */
export async function openStage(
  handler: NonNullable<ModelServerOptions["handler"]>,
  changes: Partial<Config> = {},
): Promise<Stage> {
  const model = await startModelServer({ handler, record: false });
  const server = await startTestServer({
    graphs: join(projectFolder, "langgraph.json"),
    model: "openai:scripted",
    openai: { apiKey: "test-key", baseUrl: model.url },
    console: true,
    ...changes,
  });
  await whenServed(server.url);
  const browser = await sharedChromium(chromiumPath ?? "");
  const contexts: BrowserContext[] = [];
  const openContext: OpenContext = async (options) => {
    const context = await browser.newContext(options);
    contexts.push(context);
    return context;
  };
  const kept: KeptPages = new Map();
  const stage: Stage = {
    server,
    model,
    async restart(changed = {}) {
      await stage.server.close();
      stage.server = await stage.server.restart({ port: Number(new URL(server.url).port), ...changed });
    },
    open: (options = {}) => openTab(openContext, server.url, kept, options),
    async close() {
      await Promise.all(contexts.map((context) => context.close()));
      await stage.server.remove();
      await model.close();
    },
  };
  return stage;
}

/** Waits until a server serves the console; the first one that is asked builds it. */
export async function whenServed(url: string): Promise<void> {
  await vi.waitFor(async () => expect((await fetch(`${url}/console/`)).status).toBe(200), {
    timeout: 60_000,
    interval: 100,
  });
}

/** Pages that were left, by language and theme: to begin anew in one costs half of what a new context costs. */
type KeptPages = Map<string, Page[]>;

type OpenContext = (options: BrowserContextOptions) => Promise<BrowserContext>;

async function openTab(openContext: OpenContext, url: string, kept: KeptPages, options: TabOptions): Promise<Tab> {
  const { path = "/", width = 1280, height = 800, locale = "en", theme = "light", beside } = options;
  const look = `${locale} ${theme}`;
  const page =
    (beside === undefined ? kept.get(look)?.pop() : await beside.context.newPage()) ??
    (await (await openContext({ locale, colorScheme: theme, permissions: [] })).newPage());
  const context = page.context();
  context.setDefaultTimeout(20_000);
  await page.setViewportSize({ width, height });
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(url) && !/^(data|blob):/u.test(request.url())) problems.push(`to ${request.url()}`);
  });
  page.on("console", (message) => {
    if (/Content.Security.Policy|Trusted/iu.test(message.text())) problems.push(message.text());
  });
  await page.goto(`${url}/console${path}`);
  const release = async (): Promise<void> => {
    try {
      await makeNew(page, url);
      await page.emulateMedia({ colorScheme: theme });
      kept.set(look, [...(kept.get(look) ?? []), page]);
    } catch {
      // What does not come to rest is not used again.
      await context.close();
    }
  };
  return { page, context, problems, release };
}

/** Removes from a page and its context what an earlier test has left there. */
async function makeNew(page: Page, url: string): Promise<void> {
  const context = page.context();
  for (const other of context.pages()) if (other !== page) await other.close();
  await context.unrouteAll({ behavior: "ignoreErrors" });
  await page.unrouteAll({ behavior: "ignoreErrors" });
  // The cheapest page of the same origin; what the console keeps when it is left, it has kept then.
  await page.goto(`${url}/console/icon.svg`);
  await page.evaluate("localStorage.clear(), sessionStorage.clear()");
  for (const event of ["pageerror", "dialog", "request", "response", "console"]) page.removeAllListeners(event);
  await context.clearCookies();
  await page.mouse.move(0, 0);
}

/** Leaves a tab in which nothing must have gone wrong. */
export async function leave(tab: Tab): Promise<void> {
  await tab.release();
  expect(tab.problems).toEqual([]);
}

/** Holds back what a page asks for at a path until it is to be answered. */
export interface Held {
  /** Answers with a status and an object. */
  answer(status: number, json: object): void;
  /** Lets everything pass again. */
  release(): Promise<void>;
}

/**
 * Holds back one path of the server. By the debugger: `page.route` sends everything else through the test as well, and the page
 * has to compile its scripts anew each time, since it turns the cache off.
 */
export async function holdBack({ page, context }: Tab, address: string): Promise<Held> {
  const given = Promise.withResolvers<{ responseCode: number; body: string }>();
  const session = await context.newCDPSession(page);
  session.on("Fetch.requestPaused", ({ requestId }) => {
    const responseHeaders = [{ name: "content-type", value: "application/json" }];
    void given.promise
      .then((answer) => session.send("Fetch.fulfillRequest", { requestId, responseHeaders, ...answer }))
      // The page may have been left meanwhile.
      .catch(() => undefined);
  });
  const patterns = [address, String.raw`${address}\?*`].map((urlPattern) => ({ urlPattern }));
  await session.send("Fetch.enable", { patterns });
  return {
    answer: (status, json) =>
      given.resolve({ responseCode: status, body: Buffer.from(JSON.stringify(json)).toString("base64") }),
    release: () => session.detach(),
  };
}

/** Writes a message into the field and sends it. */
export async function say({ page }: Tab, text: string): Promise<void> {
  await page.locator(".composer-field").fill(text);
  await page.keyboard.press("Enter");
}

/** Starts a chat with a message; gives the thread's id. */
export async function begin(tab: Tab, text: string): Promise<string> {
  await say(tab, text);
  await tab.page.waitForURL(/\/console\/t\//u);
  // The address comes before the page, whose field is another one.
  await tab.page.locator(".conversation").waitFor();
  return new URL(tab.page.url()).pathname.split("/").at(-1) ?? "";
}

/** The texts of the messages that are shown, in their order; those of calls are left out. */
export function shownTexts({ page }: Tab): Promise<string[]> {
  return page
    .locator(".user-bubble, .assistant-message > .md")
    .evaluateAll((elements) => elements.map((element) => (element.textContent ?? "").trim()));
}

/** Waits until a text stands in the conversation. */
export async function sees({ page }: Tab, text: string | RegExp): Promise<void> {
  await page.locator(".conversation").getByText(text).first().waitFor({ timeout: 20_000 });
}

/** Waits until no run works. */
export async function rests({ page }: Tab): Promise<void> {
  await page.locator(".stop-button").waitFor({ state: "detached", timeout: 20_000 });
}

/** Opens the newest message of the user for editing, by the key. A message has its actions a moment after it is shown. */
export async function editLast({ page }: Tab): Promise<void> {
  await page.locator("[data-edit]:enabled").last().waitFor();
  await page.locator(".composer-field").press("ArrowUp");
}

/** Presses keys one after the other, as a person does who has no mouse. */
export async function press({ page }: Tab, ...keys: string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key);
}

/** Opens the palette, which then has the focus. */
export async function openPalette(tab: Tab): Promise<void> {
  await press(tab, "Control+k");
  await tab.page.locator(".palette-field:focus").waitFor();
}

/** What the focus is on. */
async function focused({ page }: Tab): Promise<string> {
  const element = page.locator(":focus");
  if ((await element.count()) === 0) return "";
  return (await element.getAttribute("aria-label")) ?? (await element.textContent()) ?? "";
}

/** Goes on with Tab, or back, until the focus is on what is named; says what there was instead. */
export async function tabTo(tab: Tab, name: string | RegExp, key: "Tab" | "Shift+Tab" = "Tab"): Promise<void> {
  const seen: string[] = [];
  const fits = (label: string): boolean => (typeof name === "string" ? label === name : name.test(label));
  for (let count = 0; count < 40; count += 1) {
    await press(tab, key);
    const label = await focused(tab);
    if (fits(label)) return;
    seen.push(label);
  }
  throw new Error(`No focus came to ${String(name)}: ${seen.join(" | ")}`);
}

const Stored = z.object({ messages: z.array(z.object({ role: z.string(), content: z.string() })) });

/** What people and the assistant said in a thread, as the server has it. */
export async function storedTexts({ server }: Pick<Stage, "server">, threadId: string): Promise<string[]> {
  const answer = await server.send("GET", `/threads/${threadId}/messages?limit=200`);
  const { messages } = Stored.parse(await answer.json());
  return messages.filter(({ role, content }) => role !== "tool" && content !== "").map(({ content }) => content);
}

const AxeResult = z.object({
  violations: z.array(
    z.object({ id: z.string(), nodes: z.array(z.object({ html: z.string(), failureSummary: z.string().optional() })) }),
  ),
});

/** What axe finds wrong with the page as it is; empty: nothing. */
export async function axeFindings({ page }: Pick<Tab, "page">): Promise<string[]> {
  // Through the debugger, which the policy of the page does not concern; once for each load of the page.
  if ((await page.evaluate("typeof axe")) === "undefined") await page.evaluate(axe.source);
  const found: unknown = await page.evaluate("axe.run(document, { resultTypes: ['violations'] })");
  return AxeResult.parse(found).violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary ?? ""}`),
  );
}
