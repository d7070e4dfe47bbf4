import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { projectFolder } from "../../support/source-files.ts";
import { axeFindings, chromiumPath, leave, openStage, type Stage, type Tab } from "../console-page.ts";

let stage: Stage;

/** Starts a run of a graph in a thread of its own. */
async function start(graph: string): Promise<{ thread_id: string; run_id: string }> {
  const { client } = stage.server;
  const { thread_id } = await client.threads.create();
  const { run_id } = await client.runs.create(thread_id, graph, { input: {} });
  return { thread_id, run_id };
}

const rowOf = ({ page }: Tab, run: { run_id: string }) => page.locator(`.run-row[data-run="${run.run_id}"]`);

describe.skipIf(chromiumPath === undefined)("the runs of all threads", () => {
  let tab: Tab;
  beforeAll(async () => {
    const graphs = join(projectFolder, "tests/fixtures/graphs/langgraph.json");
    stage = await openStage(() => ({ text: "ok" }), { graphs });
  });
  afterAll(() => stage.close());
  afterEach(() => leave(tab));

  it("is empty at first, shows what is started and how it ends, and stops a run", async () => {
    tab = await stage.open({ path: "/runs" });
    await tab.page.getByText("No runs yet").waitFor();
    const failing = await start("failing");
    await rowOf(tab, failing).getByText("Failed").waitFor();
    await rowOf(tab, failing).getByText("OutOfLuck").waitFor();
    const slow = await start("slow");
    await rowOf(tab, slow).getByText("Running").waitFor();
    await rowOf(tab, slow).getByRole("button", { name: "Actions for this run" }).click();
    await tab.page.getByRole("menuitem", { name: "Stop" }).click();
    await rowOf(tab, slow).getByText("Stopped").waitFor();
    expect(await axeFindings(tab)).toEqual([]);
  });

  it("is filtered by what stands in the address, and by the keys of the histogram", async () => {
    const nested = await start("nested");
    const failing = await start("failing");
    tab = await stage.open({ path: "/runs?graph=nested", theme: "dark" });
    await rowOf(tab, nested).getByText("Done").waitFor();
    await expect.poll(() => tab.page.locator(".run-row[data-run]").count()).toBe(1);
    await tab.page.getByLabel("Status", { exact: true }).selectOption("error");
    await tab.page.getByText("No runs match these filters").waitFor();
    expect(new URL(tab.page.url()).search).toBe("?graph=nested&state=error");
    await tab.page.getByLabel("Graph", { exact: true }).selectOption("failing");
    await rowOf(tab, failing).getByText("Failed").waitFor();
    await tab.page.getByRole("button", { name: "Clear filters" }).click();
    await rowOf(tab, nested).waitFor();
    await tab.page.getByRole("slider", { name: "Runs over time" }).focus();
    await tab.page.keyboard.press("ArrowLeft");
    await tab.page.keyboard.press("ArrowLeft");
    await tab.page.keyboard.press("Enter");
    await tab.page.getByText("No runs match these filters").waitFor();
    expect(new URL(tab.page.url()).searchParams.get("from")).not.toBeNull();
    await tab.page.goBack();
    await rowOf(tab, nested).waitFor();
    expect(await axeFindings(tab)).toEqual([]);
  });

  it("takes keys alone: choose two runs, run both again, open one", async () => {
    const [first, second] = [await start("nested"), await start("nested")];
    tab = await stage.open({ path: "/runs", locale: "zh-CN" });
    await rowOf(tab, second).getByText("完成").waitFor();
    await tab.page.keyboard.press("j");
    await tab.page.keyboard.press("x");
    await tab.page.keyboard.press("j");
    await tab.page.keyboard.press("x");
    await tab.page.getByText("已选 2 个").waitFor();
    const before = await stage.server.client.runs.list(first.thread_id);
    await tab.page.getByRole("button", { name: "再次运行" }).press("Enter");
    await expect
      .poll(async () => (await stage.server.client.runs.list(first.thread_id)).length)
      .toBe(before.length + 1);
    await rowOf(tab, second).locator(".run-link").focus();
    await tab.page.keyboard.press("Enter");
    await tab.page.waitForURL(new RegExp(`/console/t/${second.thread_id}/run/${second.run_id}`, "u"));
  });

  it("has what has changed, and the next page, where both come at the same moment", async () => {
    const { client } = stage.server;
    const { thread_id } = await client.threads.create();
    const ids: string[] = [];
    for (let count = 0; count < 60; count += 1) {
      ids.push((await client.runs.create(thread_id, "nested", { input: {}, multitaskStrategy: "enqueue" })).run_id);
    }
    await client.runs.join(thread_id, ids.at(-1) ?? "");
    tab = await stage.open({ path: "/inbox" });
    const { page } = tab;
    // The next page waits until what has changed was read.
    const held = Promise.withResolvers<void>();
    const isOfList = (url: string, isNext: boolean): boolean =>
      /\/runs\?.*limit=50/u.test(url) && url.includes("cursor") === isNext && !url.includes("thread_id");
    await page.route(/\/runs\?.*cursor/u, async (route) => {
      await held.promise;
      await route.continue();
    });
    const asked = page.waitForRequest((request) => isOfList(request.url(), true));
    await tab.page.goto(`${stage.server.url}/console/runs?graph=nested`);
    await rowOf(tab, { run_id: ids.at(-1) ?? "" }).waitFor();
    await page.locator(".run-scroll").hover();
    await page.mouse.wheel(0, 10_000);
    await asked;
    const added = await start("nested");
    await client.runs.join(added.thread_id, added.run_id);
    await page.waitForResponse((response) => isOfList(response.url(), false));
    held.resolve();
    const scrolledTo = async (run: { run_id: string }, by: number): Promise<void> => {
      await expect.poll(async () => (await page.mouse.wheel(0, by), rowOf(tab, run).count())).toBe(1);
    };
    await scrolledTo({ run_id: ids[0] ?? "" }, 10_000);
    await scrolledTo(added, -10_000);
    await rowOf(tab, added).getByText("Done").waitFor();
  });

  it("fits a phone", async () => {
    tab = await stage.open({ path: "/runs", width: 320 });
    await tab.page.locator(".run-row[data-run]").first().waitFor();
    expect(await tab.page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(320);
    expect(await axeFindings(tab)).toEqual([]);
  });

  it("says what it is when the server refuses or cannot be reached", async () => {
    tab = await stage.open({ path: "/inbox" });
    let status = 403;
    await tab.page.route("**/runs?*", (route) =>
      route.fulfill({ status, contentType: "application/json", body: JSON.stringify({ message: "Not for you." }) }),
    );
    await tab.page.goto(`${stage.server.url}/console/runs`);
    await tab.page.getByText("You have no access to this").waitFor();
    status = 500;
    await tab.page.reload();
    await tab.page.getByText("That did not work").waitFor();
    await tab.page.unroute("**/runs?*");
    await tab.page.getByRole("button", { name: "Try again" }).click();
    await expect.poll(() => tab.page.locator(".run-row[data-run]").count()).toBeGreaterThan(0);
  });
});
