import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Locator } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { chromiumPath, leave, openStage, type Stage, type Tab } from "../console-page.ts";

let stage: Stage;
let tab: Tab;

/** A place where something is written and saved. */
interface Editor {
  /** What has to be there; gives the address. */
  begin: () => Promise<string>;
  /** What opens the editor, where it is not open at first. */
  opens?: RegExp;
  field: string;
  /** The request that saves. */
  saves: { method: string; path: RegExp };
  /** What is written first, and then while that is saved. */
  texts: [first: string, later: string];
  /** The key that saves; without one a button does. */
  key?: string;
  /** What the server has. */
  stored: () => Promise<string>;
}

const workspace = (name: string): string => join(stage.server.config.workspace, name);
const read = async (path: string): Promise<string> => (await stage.server.send("GET", path)).text();
const netlist = (resistance: string): string =>
  `Low-pass\nV1 in 0 dc 0 ac 1\nR1 in out ${resistance}\nC1 out 0 1u\n.end\n`;
const writeFileOf = async (name: string, text: string): Promise<void> => {
  await mkdir(dirname(workspace(name)), { recursive: true });
  await writeFile(workspace(name), text);
};

const editors: Record<string, Editor> = {
  "a file": {
    begin: async () => {
      await writeFileOf("notes.txt", "nothing\n");
      return "/files?path=notes.txt";
    },
    opens: /^Edit/u,
    field: ".draft-editor textarea",
    saves: { method: "PUT", path: /\/files\/content\?/u },
    texts: ["first\n", "first and later\n"],
    key: "ControlOrMeta+s",
    stored: () => readFile(workspace("notes.txt"), "utf8"),
  },
  "a rule": {
    begin: async () => {
      await writeFileOf(".autocoderrules/kind.md", "---\nalwaysApply: true\n---\nBe.\n");
      return "/rules?path=.autocoderrules/kind.md";
    },
    opens: /^Edit/u,
    field: ".draft-editor textarea",
    saves: { method: "PUT", path: /\/rules\//u },
    texts: ["---\nalwaysApply: true\n---\nBe kind.\n", "---\nalwaysApply: true\n---\nBe kind and later.\n"],
    key: "ControlOrMeta+s",
    stored: () => readFile(workspace(".autocoderrules/kind.md"), "utf8"),
  },
  "a prompt": {
    begin: () => Promise.resolve("/prompts/confirmation"),
    field: ".prompt-text textarea",
    saves: { method: "PUT", path: /\/prompts\/confirmation$/u },
    texts: ["Say {keywords}.", "Say {keywords} later."],
    key: "ControlOrMeta+s",
    stored: () => read("/prompts/confirmation"),
  },
  "an item of the store": {
    begin: async () => {
      const item = { namespace: ["people"], key: "likes", value: { drink: "tea" } };
      await stage.server.send("PUT", "/store/items", item);
      return "/store?in=people&key=likes";
    },
    field: ".form-json textarea",
    saves: { method: "PUT", path: /\/store\/items$/u },
    texts: ['{"drink": "coffee"}', '{"drink": "coffee, later"}'],
    stored: () => read("/store/items?namespace=people&key=likes"),
  },
  "a memory": {
    begin: async () => {
      const answer = await stage.server.send("POST", "/api/memory", { kind: "fact", content: "Owns a mill" });
      const [, id = ""] = /"id":"([^"]+)"/u.exec(await answer.text()) ?? [];
      return `/memory/${id}`;
    },
    field: ".shaping-view textarea",
    saves: { method: "PATCH", path: /\/api\/memory\//u },
    texts: ["Owns two mills", "Owns two mills, later"],
    stored: () => read("/api/memory"),
  },
  "a circuit": {
    begin: async () => {
      await writeFileOf("low.cir", netlist("1k"));
      return "/circuits?name=low.cir&part=netlist";
    },
    field: ".prompt-text textarea",
    saves: { method: "POST", path: /\/tools\/rewrite_file\/run$/u },
    texts: [netlist("2k"), `${netlist("2k")}* later\n`],
    key: "ControlOrMeta+s",
    stored: () => readFile(workspace("low.cir"), "utf8"),
  },
  "a task": {
    begin: () => Promise.resolve("/tasks"),
    field: ".task-add input:not([type=date])",
    saves: { method: "POST", path: /\/api\/tasks$/u },
    texts: ["Mow", "Paint, later"],
    key: "Enter",
    stored: async () => (await stage.server.send("POST", "/api/tasks/search", { query: "Paint" })).text(),
  },
  "an MCP server": {
    begin: async () => {
      await stage.server.send("PUT", "/mcp/servers/far", { url: "http://127.0.0.1:1/", enabled: false });
      return "/mcp/far";
    },
    field: ".form-json textarea",
    saves: { method: "PUT", path: /\/mcp\/servers\/far$/u },
    texts: [
      '{"url": "http://127.0.0.1:2/", "enabled": false}',
      '{"url": "http://127.0.0.1:3/later", "enabled": false}',
    ],
    stored: () => read("/mcp/servers"),
  },
  "the key of a vendor": {
    begin: () => Promise.resolve("/vendors/deepseek"),
    field: "input[type=password]",
    saves: { method: "PUT", path: /\/providers\/deepseek\/key$/u },
    texts: ["sk-the-first-key-of-a-vendor-1111", "sk-the-second-key-of-a-vendor-2222"],
    key: "Enter",
    stored: async () => ((await read("/providers")).includes("2222") ? "later" : ""),
  },
  "what models are used for": {
    begin: () => Promise.resolve("/roles"),
    field: ".role:nth-of-type(2) select",
    saves: { method: "PUT", path: /\/models\/roles$/u },
    texts: ["offline", "openai:scripted"],
    stored: async () => (/"intent":"openai:scripted"/u.test(await read("/models")) ? "later" : ""),
  },
  "where documentation comes from": {
    begin: () => Promise.resolve("/docs"),
    field: "input[type=url]",
    saves: { method: "PUT", path: /\/library-docs\/repository$/u },
    texts: ["https://example.com/first.git", "https://example.com/later.git"],
    key: "Enter",
    stored: () => read("/library-docs"),
  },
  "a setting": {
    begin: () => Promise.resolve("/settings"),
    opens: /MILLRACE_LOG_LEVEL/u,
    field: ".setting input",
    saves: { method: "PATCH", path: /\/settings$/u },
    texts: ["warn", "error"],
    key: "Enter",
    stored: async () =>
      /"MILLRACE_LOG_LEVEL","value":"(?<level>[a-z]+)"/u.exec(await read("/settings"))?.groups?.["level"] ?? "",
  },
};

/** Writes into a field, or chooses in one. */
async function write(field: Locator, text: string): Promise<void> {
  if ((await field.evaluate(({ tagName }) => tagName)) === "SELECT") await field.selectOption(text);
  else await field.fill(text);
}

/** Saves what stands in a field. */
async function save(field: Locator, { key }: Editor): Promise<void> {
  if (key === undefined) await tab.page.getByRole("button", { name: /^Save$/u }).click();
  else await field.press(key);
}

describe.skipIf(chromiumPath === undefined)("what is written while something is saved", () => {
  beforeAll(async () => {
    stage = await openStage(() => ({ text: "ok" }));
  });
  afterAll(() => stage.close());
  afterEach(() => leave(tab));

  it.each(Object.entries(editors))("stays, and is saved next: %s", async (_, editor) => {
    const { begin, opens, saves, texts, stored } = editor;
    const [first, later] = texts;
    tab = await stage.open({ path: await begin() });
    const { page } = tab;
    if (opens !== undefined) await page.getByRole("button", { name: opens }).first().click();
    const field = page.locator(editor.field).first();
    await write(field, first);
    const isSave = (method: string, url: string): boolean => method === saves.method && saves.path.test(url);
    const saved = Promise.withResolvers<void>();
    await page.route(saves.path, async (route) => {
      if (isSave(route.request().method(), route.request().url())) await saved.promise;
      await route.continue();
    });
    const asked = page.waitForRequest((request) => isSave(request.method(), request.url()));
    await save(field, editor);
    await asked;
    await write(field, later);
    saved.resolve();
    // What says that it was saved.
    await page.locator(".toast").or(page.locator(".task-row")).first().waitFor();
    expect(await field.inputValue()).toBe(later);
    await save(field, editor);
    await expect.poll(stored).toMatch(/later|^error$/u);
  });

  it("is asked about where the text is another one by then: a circuit", async () => {
    await writeFileOf("high.cir", netlist("1k"));
    tab = await stage.open({ path: "/circuits?name=high.cir&part=netlist" });
    const { page } = tab;
    const field = page.locator(".prompt-text textarea").first();
    await field.fill(`${netlist("2k")}* mine\n`);
    await writeFileOf("high.cir", `${netlist("3k")}* theirs\n`);
    const stored = () => readFile(workspace("high.cir"), "utf8");
    await field.press("ControlOrMeta+s");
    // A toast would say that it was saved.
    await page.locator(".changed-elsewhere, .toast").first().waitFor();
    expect(await stored()).toContain("theirs");
    await page.locator(".diff [data-kind=removed]").getByText("* theirs").waitFor();
    await page.getByRole("button", { name: "Overwrite with mine" }).click();
    await expect.poll(stored).toContain("mine");
    await page.locator(".changed-elsewhere").waitFor({ state: "detached" });
  });

  it("stays where another chat becomes the newest: the arguments of a tool", async () => {
    const { client } = stage.server;
    const begin = async (): Promise<string> => {
      const { thread_id } = await client.threads.create();
      await client.runs.wait(thread_id, "agent", { input: { messages: [{ role: "user", content: "hello" }] } });
      return thread_id;
    };
    const former = await begin();
    tab = await stage.open({ path: "/tools/create_file" });
    const choice = tab.page.locator(".prompt-thread select");
    await expect.poll(() => choice.inputValue()).toBe(former);
    const path = tab.page.getByRole("textbox", { name: /^path/u });
    await path.fill("new.md");
    const newest = await begin();
    await expect.poll(() => choice.locator("option").nth(1).getAttribute("value")).toBe(newest);
    expect(await path.inputValue()).toBe("new.md");
    expect(await choice.inputValue()).toBe(former);
  });
});
