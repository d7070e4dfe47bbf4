import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Request } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { projectFolder } from "../../support/source-files.ts";
import { axeFindings, chromiumPath, leave, openStage, type Stage, type Tab } from "../console-page.ts";

let stage: Stage;

/** The graphs of a folder by the names of their modules. */
const graphsOf = (folder: string, modules: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(modules).map(([name, module]) => [name, join(projectFolder, folder, module)]));

async function start(graph: string, input: Record<string, unknown> = {}): Promise<{ thread: string; run: string }> {
  const { client } = stage.server;
  const { thread_id: thread } = await client.threads.create();
  const { run_id: run } = await client.runs.create(thread, graph, {
    input,
    streamMode: ["values", "updates", "tasks"],
    streamSubgraphs: true,
    config: { recursion_limit: 1_000 },
  });
  return { thread, run };
}

const addressOf = ({ thread, run }: { thread: string; run: string }, rest = "") => `/t/${thread}/run/${run}${rest}`;

/** Whether a request reads states of a run: earlier ones, or the newest. */
function isPageOfStates(request: Request, isEarlier: boolean): boolean {
  const body = request.postData() ?? "";
  return request.url().endsWith("/history") && body.includes("run_id") && body.includes("before") === isEarlier;
}

describe.skipIf(chromiumPath === undefined)("the inspector of a run", () => {
  let tab: Tab;
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "millrace-inspector-"));
    const names = ["slow", "failing", "asking", "nested"];
    const usual = Object.fromEntries(names.map((name) => [name, `${name}.ts:graph`]));
    const graphs = {
      ...graphsOf("tests/fixtures/graphs", usual),
      ...graphsOf("tests/console", { looping: "unusual-graphs.mjs:looping" }),
    };
    writeFileSync(join(folder, "langgraph.json"), JSON.stringify({ graphs }));
    stage = await openStage(() => ({ text: "ok" }), { graphs: join(folder, "langgraph.json") });
  });
  afterAll(async () => {
    await stage.close();
    rmSync(folder, { recursive: true, force: true });
  });
  afterEach(() => leave(tab));

  it("shows a run while it works and how it ends; its views stand in the address", async () => {
    const slow = await start("slow");
    tab = await stage.open({ path: addressOf(slow) });
    await tab.page.locator('.graph-node[data-status="running"]').waitFor();
    expect(await axeFindings(tab)).toEqual([]);
    await tab.page.getByRole("button", { name: "Stop" }).click();
    await tab.page.locator('.run-head .run-state[data-status="interrupted"]').waitFor();
    await tab.page.locator('.graph-node[data-status="stopped"]').waitFor();
    await tab.page.getByRole("tab", { name: "Time" }).click();
    // The server's own names are in the language of the page.
    for (const name of [/Queue/u, /Step 1/u]) await tab.page.getByRole("treeitem", { name }).first().waitFor();
    await tab.page.getByRole("treeitem", { name: /wait/u }).first().click();
    await tab.page.locator(".span-details").waitFor();
    const address = new URL(tab.page.url());
    expect(address.search).toBe("?view=time");
    expect(address.hash).not.toBe("");
    await tab.page.reload();
    await tab.page.locator(".span-details").waitFor();
    expect(await axeFindings(tab)).toEqual([]);
  });

  it("shows what each step changed, and runs again from one, with other values and with another input", async () => {
    const failing = await start("failing", { steps: 4 });
    await stage.server.client.runs.join(failing.thread, failing.run).catch(() => undefined);
    tab = await stage.open({ path: addressOf(failing, "?view=state"), theme: "dark" });
    await tab.page.locator(".checkpoints li").nth(2).waitFor();
    await tab.page.keyboard.press("[");
    await tab.page.keyboard.press("]");
    await tab.page.locator(".diff").getByText("5").first().waitFor();
    expect(await axeFindings(tab)).toEqual([]);
    const { values } = await stage.server.client.threads.getState<{ steps: number }>(failing.thread);
    await tab.page.getByRole("button", { name: "Edit the state and run" }).click();
    // What is there already is changed, not written anew.
    await expect.poll(() => tab.page.getByLabel(/^steps/u).inputValue()).toBe(String(values.steps));
    await tab.page.getByLabel(/^steps/u).fill("40");
    await tab.page.getByRole("dialog").getByRole("button", { name: "Run" }).click();
    await expect.poll(() => tab.page.url()).not.toContain(failing.run);
    await expect.poll(async () => (await stage.server.client.runs.list(failing.thread)).length).toBe(2);
    await tab.page.goto(`${stage.server.url}/console${addressOf(failing)}`);
    await tab.page.getByRole("button", { name: "More for this run" }).click();
    await tab.page.getByRole("menuitem", { name: "Edit the input and run" }).click();
    await tab.page.getByLabel(/^steps/u).fill("7");
    await tab.page.getByRole("dialog").getByRole("button", { name: "Run" }).click();
    await expect.poll(() => tab.page.url()).not.toContain(failing.run);
    await tab.page.locator('.run-head .run-state[data-status="error"]').waitFor();
  });

  it("writes of a state what was changed, and nothing twice into a channel that collects", async () => {
    const { client } = stage.server;
    const { thread, run } = await start("nested");
    await client.runs.join(thread, run);
    const whole = (await client.threads.getState(thread)).values;
    const past = await client.threads.getHistory(thread);
    const due = past.find(({ next }) => next.includes("middle"))?.checkpoint.checkpoint_id ?? "";
    tab = await stage.open({ path: addressOf({ thread, run }, `?view=state&checkpoint=${due}`) });
    await tab.page.getByRole("button", { name: "Edit the state and run" }).click();
    await tab.page.getByRole("dialog").getByRole("button", { name: "JSON" }).click();
    const field = tab.page.getByRole("dialog").getByRole("textbox", { name: "Values" });
    await expect.poll(() => field.inputValue()).toContain("before");
    await tab.page.getByRole("dialog").getByRole("button", { name: "Run" }).click();
    await expect.poll(() => tab.page.url()).not.toContain(run);
    await tab.page.locator('.run-head .run-state[data-status="success"]').waitFor();
    expect((await client.threads.getState(thread)).values).toEqual(whole);
  });

  it("has each of the checkpoints of a long run", async () => {
    const { client } = stage.server;
    const long = await start("looping", { left: 250 });
    await client.runs.join(long.thread, long.run);
    const all = await client.threads.getHistory(long.thread, { limit: 1000 });
    tab = await stage.open({ path: addressOf(long, "?view=state"), width: 390 });
    const rows = tab.page.locator(".checkpoints li");
    await expect.poll(() => rows.count()).toBe(100);
    const older = tab.page.getByRole("button", { name: "Earlier checkpoints" });
    await older.click();
    await expect.poll(() => rows.count()).toBe(200);
    expect(await axeFindings(tab)).toEqual([]);
    await older.click();
    await expect.poll(() => rows.count()).toBe(all.length);
    await older.waitFor({ state: "detached" });
    // An address leads to one of the first, with what its step has changed.
    const first = all.at(-3)?.checkpoint.checkpoint_id ?? "";
    await tab.page.goto(`${stage.server.url}/console${addressOf(long, `?view=state&checkpoint=${first}`)}`);
    await expect.poll(() => rows.count()).toBe(all.length);
    expect(await rows.nth(2).getByRole("button").getAttribute("aria-current")).toBe("true");
    await tab.page.locator(".state-shown .diff").first().waitFor();
  });

  it("reads earlier checkpoints also when news come while they are read", async () => {
    const { client } = stage.server;
    const long = await start("looping", { left: 120 });
    await client.runs.join(long.thread, long.run);
    tab = await stage.open({ path: addressOf(long, "?view=state") });
    const rows = tab.page.locator(".checkpoints li");
    await expect.poll(() => rows.count()).toBe(100);
    // The page of earlier ones waits until the news have come.
    const held = Promise.withResolvers<void>();
    await tab.page.route("**/history", async (route) => {
      if (isPageOfStates(route.request(), true)) await held.promise;
      await route.continue().catch(() => undefined);
    });
    const asked = tab.page.waitForRequest((request) => isPageOfStates(request, true));
    await tab.page.getByRole("button", { name: "Earlier checkpoints" }).click();
    await asked;
    const again = tab.page.waitForRequest((request) => isPageOfStates(request, false));
    await client.threads.update(long.thread, { metadata: { title: "Renamed" } });
    await again;
    held.resolve();
    await expect.poll(() => rows.count()).toBeGreaterThan(100);
  });

  it("marks what a run waited for, and says in its head what it was and took", async () => {
    const failing = await start("failing", { steps: 2 });
    await stage.server.client.runs.join(failing.thread, failing.run).catch(() => undefined);
    tab = await stage.open({ path: addressOf(failing, "?view=time") });
    await tab.page.locator(".run-facts", { hasText: "Client" }).waitFor();
    await tab.page.locator(".span-row").nth(2).waitFor();
    expect(await tab.page.locator(".span-row[data-critical]").count()).toBe(0);
    await tab.page.getByRole("checkbox", { name: "Critical path" }).check();
    await expect.poll(() => tab.page.locator(".span-row[data-critical]").count()).toBeGreaterThan(2);
    expect(await axeFindings(tab)).toEqual([]);
    // What failed is tried again where it is said.
    await tab.page.getByRole("alert").waitFor();
    await tab.page.getByRole("button", { name: "Run again" }).click();
    await expect.poll(() => tab.page.url()).not.toContain(failing.run);
  });

  it("runs a run again that was an answer, from where it was asked", async () => {
    const { client } = stage.server;
    const { thread, run: first } = await start("asking");
    await client.runs.join(thread, first);
    const { run_id: run } = await client.runs.create(thread, "asking", { command: { resume: "Ada" } });
    await client.runs.join(thread, run);
    tab = await stage.open({ path: addressOf({ thread, run }) });
    await tab.page.getByRole("button", { name: "Run again" }).click();
    await expect.poll(() => tab.page.url()).not.toContain(run);
    // "Ada" is no answer to the question that came after it.
    await tab.page.locator('.run-head .run-state[data-status="success"]').waitFor();
    const [task] = (await client.threads.getState(thread)).tasks;
    expect(task?.interrupts[0]?.value).toMatchObject({ question: "What is your name?" });
  });

  it("has the raw events, filtered and opened", async () => {
    const nested = await start("nested");
    tab = await stage.open({ path: addressOf(nested, "?view=events"), width: 390 });
    await tab.page.locator(".event-row").first().waitFor();
    await tab.page.getByRole("searchbox", { name: "Filter events" }).fill("leaf_two");
    // The list follows the field, later than its next letter.
    await tab.page.locator(".event-row button").first().filter({ hasText: "leaf_two" }).waitFor();
    await tab.page.locator(".event-row button").first().click();
    await tab.page.locator(".event-open").getByText("leaf_two").first().waitFor();
    await tab.page.getByRole("searchbox", { name: "Filter events" }).fill("nothing like this");
    await tab.page.getByText("No events match").waitFor();
    expect(await tab.page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
    expect(await axeFindings(tab)).toEqual([]);
  });

  it("says that a run is gone", async () => {
    const { thread } = await start("nested");
    tab = await stage.open({ path: addressOf({ thread, run: "01a21481-e6bb-7518-aaa4-1666b95f66a3" }) });
    await tab.page.getByText("This run no longer exists").waitFor();
    expect(await axeFindings(tab)).toEqual([]);
  });

  it("draws 30,000 parts of a run as rows that are seen", async () => {
    const nested = await start("nested");
    tab = await stage.open({ path: addressOf(nested) });
    const span = (index: number) => ({
      id: `s${index}`,
      parent: index === 0 ? null : `s${Math.floor((index - 1) / 10)}`,
      kind: index === 0 ? "run" : "node",
      name: `part ${index}`,
      node: null,
      namespace: [],
      checkpoint_id: null,
      start: new Date(1_700_000_000_000 + index).toISOString(),
      first_token: null,
      end: new Date(1_700_000_000_500 + index * 2).toISOString(),
      status: "success",
      usage: null,
      cost: null,
      model: null,
      error: null,
      message_id: null,
      model_call_id: null,
      tool_call_id: null,
      payloads: { input: false, output: false },
      source: "log",
      seq: index,
    });
    const body = Array.from({ length: 30_000 }, (_, index) => `id: ${index}\ndata: ${JSON.stringify(span(index))}\n\n`);
    await tab.page.route("**/trace", (route) =>
      route.fulfill({ contentType: "text/event-stream", body: body.join("") }),
    );
    await tab.page.goto(`${stage.server.url}/console${addressOf(nested, "?view=time")}`);
    await tab.page.getByText("30000 parts").or(tab.page.getByText("30,000 parts")).waitFor();
    expect(await tab.page.locator(".span-row").count()).toBeLessThan(80);
    await tab.page.getByRole("tree").focus();
    await tab.page.keyboard.press("End");
    await tab.page.locator('.span-row[data-selected] >> text="part 11110"').waitFor();
  });
});
