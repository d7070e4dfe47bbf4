import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { projectFolder } from "../support/source-files.ts";
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
} from "./console-page.ts";

/** A line of a megabyte, and JSON of ten thousand levels. */
const line = "x".repeat(1_000_000);
const levels = 10_000;
const deepText = `${"[".repeat(levels)}1${"]".repeat(levels)}`;
/** Characters that a page may draw of what is longer than that without being asked. */
const most = 200_000;

const Made = z.object({ thread_id: z.string() });

let folder: string;
let stage: Stage;
let tab: Tab;

/** Graphs that are served, by name. */
const graphs: Record<string, string> = {
  agent: join(projectFolder, "src/graph/workflow.ts:workflow"),
  asking: join(projectFolder, "tests/fixtures/graphs/asking.ts:graph"),
};
const configOf = async (name: string, served: Record<string, string>): Promise<string> => {
  const path = join(folder, name);
  await writeFile(path, JSON.stringify({ graphs: served }));
  return path;
};

const drawn = async (part: string): Promise<number> =>
  (await tab.page.locator(part).allTextContents()).reduce((sum, text) => sum + text.length, 0);

/** Makes a thread of messages, as an export has them. */
async function importThread(messages: readonly object[]): Promise<string> {
  const body = { format: "millrace.session", version: 1, session_name: "Large", graph_id: "agent", messages };
  const answer = await stage.server.send("POST", "/threads/import", body);
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(text);
  return Made.parse(JSON.parse(text)).thread_id;
}

describe.skipIf(chromiumPath === undefined)("what is too large, too deep, or gone", () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-bad-input-"));
    const served = await configOf("langgraph.json", graphs);
    stage = await openStage(
      ({ messages }) => ({ text: `You said: ${String(messages.at(-1)?.content).slice(0, 40)}` }),
      {
        graphs: served,
      },
    );
  });
  afterAll(async () => {
    await stage.close();
    await rm(folder, { recursive: true, force: true });
  });
  afterEach(() => leave(tab));

  it("draws the beginning of a line of a megabyte, and all of it on request", async () => {
    const call = { id: "c", name: "read_file", args: { path: line, text: line }, type: "tool_call" };
    const thread = await importThread([
      { type: "human", id: "h", content: line },
      { type: "ai", id: "a", content: line, additional_kwargs: { reasoning_content: line }, tool_calls: [call] },
      { type: "tool", id: "t", tool_call_id: "c", name: "read_file", content: line },
      { type: "ai", id: "b", content: "That was long." },
    ]);
    tab = await stage.open({ path: `/t/${thread}`, height: 3_000 });
    const { page } = tab;
    await sees(tab, "That was long.");
    await page.locator(".tool-head").click();
    await page.getByRole("button", { name: "Arguments" }).click();
    await page.locator(".reasoning-header").click();
    for (const part of [".user-bubble", ".md-long", ".tool-result", ".tool-body", ".tool-head"]) {
      await page.locator(part).first().waitFor();
    }
    expect(await drawn(".main")).toBeLessThan(most);
    await page
      .locator(".user-bubble")
      .getByRole("button", { name: /^Show all/u })
      .click();
    await expect.poll(() => drawn(".user-bubble")).toBe(line.length);
  });

  it("keeps a line of a megabyte that the user sends, and says why no model reads it", async () => {
    tab = await stage.open();
    const thread = await begin(tab, "hello");
    await rests(tab);
    await say(tab, line);
    await tab.page.locator(".error-bar").getByText("Send a shorter message").waitFor();
    await tab.page
      .locator(".user-bubble")
      .last()
      .getByRole("button", { name: /^Show all/u })
      .waitFor();
    expect(await drawn(".main")).toBeLessThan(most);
    expect(await storedTexts(stage, thread)).toContain(line);
  });

  it("shows JSON of ten thousand levels as arguments and as a result", async () => {
    const thread = await importThread([
      { type: "human", id: "h", content: "deep" },
      { type: "ai", id: "a", content: "", tool_calls: [{ id: "c", name: "dig", args: { at: 1 }, type: "tool_call" }] },
      { type: "tool", id: "t", tool_call_id: "c", name: "dig", content: deepText },
    ]);
    tab = await stage.open();
    const { page } = tab;
    // The server's own limit is lower; another one may have none.
    await page.route(`**/threads/${thread}/messages*`, async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ response: answer, body: (await answer.text()).replace('"at":1', `"at":${deepText}`) });
    });
    await page.goto(`${stage.server.url}/console/t/${thread}`);
    await page.locator(".tool-head").click();
    await page.getByRole("button", { name: "Arguments" }).click();
    await page.locator(".tool-body code").first().getByText("[[[[").waitFor();
    expect(await drawn(".main")).toBeLessThan(most);
    await page.locator(".tool-result").waitFor();
  });

  it("shows both in the states and the events of a run", async () => {
    tab = await stage.open();
    const { page } = tab;
    const thread = await begin(tab, "hello");
    await rests(tab);
    const [run] = await stage.server.client.runs.list(thread);
    await page.route(`**/threads/${thread}/history*`, async (route) => {
      const answer = await route.fetch();
      const values = `"values":{"deep":${deepText},"line":"${line}",`;
      await route.fulfill({ response: answer, body: (await answer.text()).replace('"values":{', values) });
    });
    const events = [deepText, `"${line}"`].map((data, index) => `id: ${index}\nevent: values\ndata: ${data}\n\n`);
    await page.route("**/stream", (route) =>
      route.fulfill({ contentType: "text/event-stream", body: events.join("") }),
    );
    await page.goto(`${stage.server.url}/console/t/${thread}/run/${run?.run_id ?? ""}?view=state`);
    for (const name of ["deep", "line"]) {
      await page.getByRole("button", { name, exact: true }).click();
      await page.locator(".channels").getByRole("group", { name, exact: true }).waitFor();
    }
    expect(await drawn(".main")).toBeLessThan(most);
    await page.getByRole("tab", { name: "Events" }).click();
    for (const index of [0, 1]) {
      await page.locator(".event-row button").nth(index).click();
      await page
        .locator(".event-open")
        .getByRole("group", { name: `${index} values` })
        .waitFor();
    }
    expect(await drawn(".main")).toBeLessThan(most);
  });

  it("says that a chat was deleted elsewhere while it is open, and keeps what was being written", async () => {
    tab = await stage.open();
    const { page } = tab;
    const thread = await begin(tab, "hello");
    await rests(tab);
    await page.locator(".composer-field").fill("half a thought");
    await stage.server.client.threads.delete(thread);
    await page.getByRole("heading", { name: "This chat no longer exists" }).waitFor();
    expect(await page.locator(".composer-field").count()).toBe(0);
    await page.getByRole("button", { name: "Start a new chat" }).click();
    expect(await page.locator(".home .composer-field").inputValue()).toBe("half a thought");
  });

  it.each(["run", "context", "graph"])("says so on the page of its %s, too", async (place) => {
    tab = await stage.open();
    const { page } = tab;
    const thread = await begin(tab, "hello");
    await rests(tab);
    const [run] = await stage.server.client.runs.list(thread);
    const pages: Record<string, [address: string, part: string]> = {
      run: [`/t/${thread}/run/${run?.run_id ?? ""}`, ".run-head"],
      context: [`/t/${thread}/context`, ".context-request"],
      graph: [`/g/agent?thread=${thread}`, ".run-panel-head"],
    };
    const [address, part] = pages[place] ?? ["", ""];
    await page.goto(`${stage.server.url}/console${address}`);
    await page.locator(part).waitFor();
    await stage.server.client.threads.delete(thread);
    await page
      .locator(".main .blank-title")
      .filter({ hasText: /no longer exists/u })
      .waitFor();
    await expect.poll(() => page.locator(part).count()).toBe(0);
  });

  it("says that a graph is not served any more while its page is open", async () => {
    tab = await stage.open({ path: "/g/asking" });
    const { page } = tab;
    await page.locator(".graph-node").first().waitFor();
    const { agent = "" } = graphs;
    await stage.restart({ graphs: await configOf("fewer.json", { agent }) });
    await page.getByText("This graph is not served").waitFor();
    await expect.poll(() => page.locator(".graph-node").count()).toBe(0);
    await stage.restart({ graphs: join(folder, "langgraph.json") });
  });
});
