import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { projectFolder } from "../support/source-files.ts";
import { axeFindings, chromiumPath, leave, openStage, type Stage, type Tab } from "./console-page.ts";

const fixtures = join(projectFolder, "tests/fixtures/graphs/langgraph.json");
let stage: Stage;

/** The state in words, once a run of the page's form is over. */
async function submit(tab: Tab): Promise<void> {
  await tab.page.getByRole("button", { name: "Run", exact: false }).and(tab.page.locator("[type=submit]")).click();
  await tab.page.waitForURL(/thread=/u);
}

const panel = ({ page }: Tab) => page.locator(".run-panel");
const state = (tab: Tab) => panel(tab).locator(".run-panel-head .run-state");

describe.skipIf(chromiumPath === undefined)("any graph of the langgraph.json", () => {
  let tab: Tab;
  beforeAll(async () => {
    stage = await openStage(() => ({ text: "ok" }), { graphs: fixtures });
  });
  afterAll(() => stage.close());
  afterEach(() => leave(tab));

  it("is found, drawn, started from its form, inspected and forked", { timeout: 300_000 }, async () => {
    tab = await stage.open({ path: "/g" });
    await tab.page.locator(".graph-card").first().waitFor();
    const served = await stage.server.client.assistants.search({ limit: 100 });
    const broken = 2;
    await expect.poll(() => tab.page.locator(".graph-card").count()).toBe(served.length + broken);
    expect(await axeFindings(tab)).toEqual([]);
    for (const { graph_id: graph } of served) {
      // As a link of the page does.
      await tab.page.evaluate(`history.pushState(null, "", "/console/g/${graph}")`);
      const drawn = await stage.server.client.assistants.getGraph(graph, { xray: true });
      await expect.poll(() => tab.page.locator(".graph-node").count(), { message: graph }).toBe(drawn.nodes.length);
      // Boxes are measured in the frame after the one that draws them; edges must outlive that.
      await tab.page.evaluate(
        "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))",
      );
      expect(await tab.page.locator(".react-flow__edge-path").count(), graph).toBe(drawn.edges.length);
      // The drawing does not wait for the schemas, by which the form is made.
      await tab.page.locator(".start-panel .schema-form form").first().waitFor();
      const message = tab.page.getByRole("textbox", { name: "Message 1" });
      if ((await message.count()) > 0) await message.fill("Hello");
      await submit(tab);
      if (graph === "slow") {
        await state(tab).getByText("Running").waitFor();
        await panel(tab).getByRole("button", { name: "Stop" }).click();
      }
      const ended = async () => `${graph}: ${String(await state(tab).textContent())}`;
      await expect.poll(ended).toMatch(/Done|Failed|Stopped/u);
      await panel(tab).locator(".step").first().waitFor();
      const thread = new URL(tab.page.url()).searchParams.get("thread") ?? "";
      const other = () => {
        const now = new URL(tab.page.url()).searchParams.get("thread") ?? "";
        return now === "" || now === thread ? graph : "another thread";
      };
      await panel(tab).getByRole("button", { name: "Fork the chat from here" }).click();
      await expect.poll(other).toBe("another thread");
      const values = async (id: string) => (await stage.server.client.threads.getState(id)).values;
      const copy = new URL(tab.page.url()).searchParams.get("thread") ?? "";
      expect(await values(copy), graph).toEqual(await values(thread));
      await tab.page.goBack();
      await panel(tab).getByRole("link", { name: "Inspect" }).click();
      await tab.page.locator(".run-head h1").getByText(graph, { exact: true }).waitFor();
      await expect.poll(() => tab.page.locator(".graph-node").count(), { message: graph }).toBe(drawn.nodes.length);
      await tab.page.getByRole("tab", { name: "Time" }).click();
      const parts = tab.page.getByRole("treeitem");
      await expect.poll(() => parts.count(), { message: graph }).toBeGreaterThan(2);
      await tab.page.getByRole("tab", { name: "State" }).click();
      await tab.page.locator(".checkpoints li").first().waitFor();
    }
  });

  it("asks what its graph asks, stops before a node, and goes on", async () => {
    tab = await stage.open({ path: "/g/asking", theme: "dark" });
    await submit(tab);
    await panel(tab).getByText("What is your name?").waitFor();
    expect(await axeFindings(tab)).toEqual([]);
    await panel(tab).getByRole("textbox").fill("Ada");
    await panel(tab).getByRole("button", { name: "Answer" }).click();
    await panel(tab).getByText("How old are you, Ada?").waitFor();
    await panel(tab).getByRole("textbox").fill("36");
    await panel(tab).getByRole("button", { name: "Answer" }).click();
    await panel(tab).locator(".channels").getByText("36", { exact: true }).waitFor();
    await tab.page.goto(`${stage.server.url}/console/g/breakpoint`);
    await submit(tab);
    await panel(tab).getByText("It stopped before send").waitFor();
    await panel(tab).getByRole("button", { name: "Continue" }).click();
    await panel(tab).getByText("true", { exact: true }).waitFor();
  });

  it("takes what was written into a question however new it is", async () => {
    tab = await stage.open({ path: "/g/asking" });
    // As fast as no person: written when the card is there, sent with the next frame.
    await tab.page.evaluate(`new MutationObserver((_, observer) => {
      const field = document.querySelector(".approval-card textarea");
      if (field === null) return;
      observer.disconnect();
      Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(field, "Ada");
      field.dispatchEvent(new Event("input", { bubbles: true }));
      requestAnimationFrame(() => document.querySelector(".answer-row button").click());
    }).observe(document.body, { subtree: true, childList: true })`);
    await submit(tab);
    await panel(tab).getByText("How old are you, Ada?").waitFor();
    await expect.poll(() => panel(tab).locator(".channels").textContent()).toContain("Ada");
  });

  it("refuses what does not fit its schema, keeps earlier inputs, and takes JSON", async () => {
    tab = await stage.open({ path: "/g/annotation", width: 390 });
    await tab.page.getByRole("button", { name: "JSON" }).click();
    await tab.page.getByRole("textbox", { name: "Input" }).fill("{ no");
    await tab.page.getByText("This is not JSON").waitFor();
    await tab.page.getByRole("textbox", { name: "Input" }).fill('{"topic": "rivers", "scores": [1, 2]}');
    await tab.page.getByRole("button", { name: "Fields" }).click();
    expect(await tab.page.getByLabel("topic").inputValue()).toBe("rivers");
    await submit(tab);
    await expect.poll(() => state(tab).textContent()).toMatch(/Done|Failed/u);
    await tab.page.getByRole("button", { name: "Previous inputs" }).click();
    await tab.page.getByRole("menuitem", { name: /rivers/u }).waitFor();
    await tab.page.keyboard.press("Escape");
    expect(await tab.page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
    expect(await axeFindings(tab)).toEqual([]);
  });

  it("has assistants of its own with their context, and copies of its chats", async () => {
    tab = await stage.open({ path: "/g/context" });
    await tab.page.getByRole("button", { name: "Context" }).click();
    await tab.page.getByLabel(/^tone/u).selectOption("formal");
    await tab.page.getByRole("button", { name: "More about the assistant" }).click();
    await tab.page.getByRole("menuitem", { name: "Create an assistant" }).click();
    await tab.page.getByLabel("Name").fill("Polite <b>one</b>");
    await tab.page.keyboard.press("Enter");
    await tab.page.waitForURL(/\/g\/[0-9a-f-]{36}/u);
    await submit(tab);
    await panel(tab)
      .getByText(/formal/u)
      .first()
      .waitFor();
    const before = tab.page.url();
    await panel(tab).getByRole("button", { name: "Fork the chat from here" }).click();
    await expect.poll(() => tab.page.url()).not.toBe(before);
    await panel(tab)
      .getByText(/formal/u)
      .first()
      .waitFor();
  });

  it("stops at several nodes, before and after, and at the next one when it goes on", async () => {
    tab = await stage.open({ path: "/g/breakpoint" });
    await tab.page.getByRole("button", { name: "Stop at nodes" }).click();
    const choose = (node: string, side: string) =>
      tab.page.getByRole("group", { name: node, exact: true }).getByRole("button", { name: side }).click();
    await choose("write", "Before");
    await choose("send", "Before");
    await choose("send", "After");
    await tab.page.getByRole("button", { name: "Stops at 2 nodes" }).waitFor();
    expect(await tab.page.locator(".graph-node[data-pauses]").count()).toBe(2);
    expect(await axeFindings(tab)).toEqual([]);
    await submit(tab);
    await panel(tab).getByText("It stopped before write").waitFor();
    await panel(tab).getByRole("button", { name: "Continue" }).click();
    await panel(tab).getByText("It stopped before send").waitFor();
    const thread = new URL(tab.page.url()).searchParams.get("thread") ?? "";
    const [run] = await stage.server.client.runs.list(thread);
    expect(run).toMatchObject({ kwargs: { interrupt_before: ["write", "send"], interrupt_after: ["send"] } });
    // In the drawing a click takes a stop away, or sets one.
    await tab.page.locator(".graph-node", { hasText: "write" }).click();
    await tab.page.getByRole("button", { name: "Stops at 1 node" }).waitFor();
  });

  it("keeps the context of an assistant in versions, of which one is chosen and made the active one", async () => {
    const { client } = stage.server;
    const made = await client.assistants.create({
      graphId: "context",
      name: "Of versions",
      context: { tone: "formal" },
    });
    tab = await stage.open({ path: `/g/${made.assistant_id}` });
    await tab.page.getByRole("button", { name: "Context" }).click();
    await tab.page.getByLabel(/^tone/u).selectOption("casual");
    await tab.page.getByRole("button", { name: "More about the assistant" }).click();
    await tab.page.getByRole("menuitem", { name: "Save the context as a new version" }).click();
    await tab.page
      .getByLabel("Versions", { exact: true })
      .locator("option", { hasText: "Version 2 (active)" })
      .waitFor({ state: "attached" });
    // The list is read again before the page goes on to the new version.
    await expect.poll(() => tab.page.getByLabel("Versions", { exact: true }).inputValue()).toBe("2");
    expect(await client.assistants.get(made.assistant_id)).toMatchObject({ version: 2, context: { tone: "casual" } });
    await tab.page.getByLabel("Versions", { exact: true }).selectOption("1");
    await tab.page.getByRole("button", { name: "Context" }).click();
    await expect.poll(() => tab.page.getByLabel(/^tone/u).locator("option:checked").textContent()).toBe("formal");
    // To look at a version changes nothing for others.
    expect(await client.assistants.get(made.assistant_id)).toMatchObject({ version: 2 });
    await tab.page.getByRole("button", { name: "Activate this version" }).click();
    await tab.page
      .getByLabel("Versions", { exact: true })
      .locator("option", { hasText: "Version 1 (active)" })
      .waitFor({ state: "attached" });
    expect(await client.assistants.get(made.assistant_id)).toMatchObject({ version: 1, context: { tone: "formal" } });
    expect(await axeFindings(tab)).toEqual([]);
  });

  it("says of a graph that is not served why", async () => {
    tab = await stage.open({ path: "/g" });
    const card = tab.page.locator(".graph-card", { hasText: "./broken.ts:graph" });
    await card.getByText(/the key of the service is missing/u).waitFor();
    expect(await axeFindings(tab)).toEqual([]);
    await card.getByRole("link", { name: "broken" }).click();
    await tab.page.getByText("This graph is not served").waitFor();
    await tab.page.getByText(/the key of the service is missing/u).waitFor();
    expect(await axeFindings(tab)).toEqual([]);
  });
});

describe.skipIf(chromiumPath === undefined)("a graph with an unusual schema", () => {
  let tab: Tab;
  let folder: string;
  let own: Stage;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "millrace-graphs-"));
    cpSync(join(projectFolder, "tests/console/unusual-graphs.mjs"), join(folder, "unusual.mjs"));
    const names = ["tree", "hostile", "silent", "asking", "counting"];
    const graphs = Object.fromEntries(names.map((name) => [name, `./unusual.mjs:${name}`]));
    writeFileSync(join(folder, "langgraph.json"), JSON.stringify({ graphs }));
    own = await openStage(() => ({ text: "ok" }), { graphs: join(folder, "langgraph.json") });
  });
  afterAll(async () => {
    await own.close();
    rmSync(folder, { recursive: true, force: true });
  });
  afterEach(() => leave(tab));

  it("that refers to itself opens as deep as the user opens it", async () => {
    tab = await own.open({ path: "/g/tree" });
    await tab.page.getByLabel(/label/u).first().waitFor();
    await submit(tab);
    await expect.poll(() => state(tab).textContent()).toMatch(/Done/u);
  });

  it("with hostile titles shows them as texts", async () => {
    tab = await own.open({ path: "/g/hostile" });
    await tab.page.getByText("<img src=x onerror=alert(1)>").first().waitFor();
    expect(await tab.page.locator(".schema-form img").count()).toBe(0);
    await submit(tab);
    await expect.poll(() => state(tab).textContent()).toMatch(/Done/u);
  });

  it("that is missing takes JSON", async () => {
    tab = await own.open();
    const body = JSON.stringify({ graph_id: "silent", input_schema: null, context_schema: null });
    await tab.page.route("**/schemas", (route) => route.fulfill({ contentType: "application/json", body }));
    await tab.page.goto(`${own.server.url}/console/g/silent`);
    await tab.page.getByRole("textbox", { name: "Input" }).fill('{"n": 4}');
    await submit(tab);
    await expect.poll(() => state(tab).textContent()).toMatch(/Done/u);
    await expect.poll(() => panel(tab).locator(".channels").textContent()).toContain("8");
  });

  it("of no answer takes a text as it is written, and JSON where it is an object or a list", async () => {
    tab = await own.open({ path: "/g/counting" });
    for (const [text, value] of [
      ["36", "36"],
      ["[36]", [36]],
    ] as const) {
      await submit(tab);
      const card = panel(tab).locator(".approval-card");
      await card.getByRole("textbox").fill(text);
      await card.getByRole("button", { name: "Answer" }).click();
      await expect.poll(() => state(tab).textContent()).toMatch(/Done/u);
      const thread = new URL(tab.page.url()).searchParams.get("thread") ?? "";
      await expect
        .poll(async () => (await own.server.client.threads.getState(thread)).values)
        .toEqual({ answer: value });
    }
  });

  it("of an answer is a form, too", async () => {
    tab = await own.open({ path: "/g/asking" });
    await submit(tab);
    const card = panel(tab).locator(".approval-card");
    await card.getByLabel(/^day/u).fill("0");
    await card.getByRole("button", { name: "Answer" }).click();
    await card.locator(".error-detail").waitFor();
    await card.getByLabel(/^day/u).fill("3");
    await card.getByRole("button", { name: "Answer" }).click();
    await expect.poll(() => panel(tab).locator(".channels").textContent()).toContain('"day": 3');
  });
});
