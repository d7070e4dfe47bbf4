import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { projectFolder } from "../../support/source-files.ts";
import { chromiumPath, leave, openStage, type Stage, type Tab } from "../console-page.ts";

let stage: Stage;
let tab: Tab;

/** A button that starts or creates something. */
interface Starter {
  /** The page, by a run of the graph that is over. */
  address: (run: { thread: string; run: string }) => string;
  graph: "nested" | "breakpoint";
  /** Opens what the button is in, where it is not there at first. */
  opens?: (page: Page) => Promise<void>;
  button: (page: Page) => Locator;
  /** The request that starts or creates. */
  posts: RegExp;
}

const choose = async (page: Page, menu: string, entry: string): Promise<void> => {
  await page.getByRole("button", { name: menu }).click();
  await page.getByRole("menuitem", { name: entry }).click();
};
const inDialog = (page: Page, name: string): Locator =>
  page.getByRole("dialog").getByRole("button", { name, exact: true });

const starters: Record<string, Starter> = {
  "a run again": {
    graph: "nested",
    address: ({ thread, run }) => `/t/${thread}/run/${run}`,
    button: (page) => page.getByRole("button", { name: "Run again", exact: true }),
    posts: /\/threads\/[^/]+\/runs$/u,
  },
  "a run with another input": {
    graph: "nested",
    address: ({ thread, run }) => `/t/${thread}/run/${run}`,
    opens: (page) => choose(page, "More for this run", "Edit the input and run"),
    button: (page) => inDialog(page, "Run"),
    posts: /\/threads(?:\/[^/]+\/runs)?$/u,
  },
  "a run that stopped before a node": {
    graph: "breakpoint",
    address: ({ thread }) => `/g/breakpoint?thread=${thread}`,
    button: (page) => page.getByRole("button", { name: "Continue", exact: true }),
    posts: /\/threads\/[^/]+\/runs$/u,
  },
  "a copy of a chat": {
    graph: "nested",
    address: ({ thread }) => `/g/nested?thread=${thread}`,
    button: (page) => page.getByRole("button", { name: "Fork the chat from here" }),
    posts: /\/fork$/u,
  },
  "an assistant": {
    graph: "nested",
    address: () => "/g/nested",
    opens: async (page) => {
      await choose(page, "More about the assistant", "Create an assistant");
      await page.getByRole("dialog").getByRole("textbox").fill("Mine");
    },
    button: (page) => inDialog(page, "Create an assistant"),
    posts: /\/assistants$/u,
  },
};

describe.skipIf(chromiumPath === undefined)("what is clicked twice while it is under way", () => {
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "millrace-once-"));
    const graphs = Object.fromEntries(
      ["nested", "breakpoint"].map((name) => [name, join(projectFolder, `tests/fixtures/graphs/${name}.ts:graph`)]),
    );
    writeFileSync(join(folder, "langgraph.json"), JSON.stringify({ graphs }));
    stage = await openStage(() => ({ text: "ok" }), { graphs: join(folder, "langgraph.json") });
  });
  afterAll(async () => {
    await stage.close();
    rmSync(folder, { recursive: true, force: true });
  });
  afterEach(() => leave(tab));

  it.each(Object.entries(starters))("is started once: %s", async (_, { graph, address, opens, button, posts }) => {
    const { client } = stage.server;
    const { thread_id: thread } = await client.threads.create();
    const { run_id: run } = await client.runs.create(thread, graph, { input: {} });
    await client.runs.join(thread, run);
    tab = await stage.open({ path: address({ thread, run }) });
    const { page } = tab;
    await opens?.(page);
    const held = Promise.withResolvers<void>();
    let count = 0;
    await page.route(posts, async (route) => {
      if (route.request().method() === "POST") {
        count += 1;
        await held.promise;
      }
      await route.continue();
    });
    const asked = page.waitForRequest((request) => request.method() === "POST" && posts.test(request.url()));
    const answered = page.waitForResponse(
      (response) => response.request().method() === "POST" && posts.test(response.url()),
    );
    await button(page).click();
    await asked;
    await button(page).dispatchEvent("click");
    // What a second one would read first, it has read then.
    await page.evaluate("(async () => { for (let at = 0; at < 5; at += 1) await fetch('/ok'); })()");
    expect(count).toBe(1);
    held.resolve();
    expect((await answered).ok()).toBe(true);
  });
});
