import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { axeFindings, begin, chromiumPath, leave, openStage, sees, type Stage, type Tab } from "../console-page.ts";

describe.skipIf(chromiumPath === undefined)("a first minute", () => {
  let stage: Stage;
  let tab: Tab;
  beforeAll(async () => {
    stage = await openStage(
      ({ headers }) =>
        headers["authorization"] === "Bearer the-right-key"
          ? { text: "A real one answers." }
          : { fault: { kind: "status", status: 401 } },
      { model: "offline", openai: { apiKey: undefined, baseUrl: undefined } },
    );
    // Where the vendor's server is: that of the test.
    await stage.server.send("PUT", "/providers/openai", { base_url: stage.model.url });
  });
  afterAll(() => stage.close());
  afterEach(() => leave(tab));

  it("leads from the offline model to one that answers: a vendor, a key, a test", async () => {
    tab = await stage.open();
    const { page } = tab;
    await page.getByRole("button", { name: "Add a model" }).click();
    const dialog = page.getByRole("dialog", { name: "Add a model" });
    await dialog.getByLabel("Vendor").selectOption({ label: "OpenAI" });
    // What usually answers is proposed.
    await expect.poll(() => dialog.getByLabel("Model", { exact: true }).inputValue()).not.toBe("");
    await dialog.getByLabel("Model", { exact: true }).fill("scripted");
    await dialog.getByLabel("Key", { exact: true }).fill("a-wrong-key");
    await page.keyboard.press("Enter");
    await dialog.getByRole("alert").waitFor();
    expect(await axeFindings(tab)).toEqual([]);
    await dialog.getByLabel("Key", { exact: true }).fill("the-right-key");
    await page.keyboard.press("Enter");
    await page.getByText("openai:scripted answers from now on.").waitFor();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Add a model" }).waitFor({ state: "detached" });
    await begin(tab, "hello");
    await sees(tab, "A real one answers.");
  });

  it("says how to come to a model of Ollama where none runs, also in Chinese", async () => {
    await stage.server.send("PUT", "/models/roles", { main: "offline" });
    await stage.server.send("DELETE", "/providers/openai/key");
    // A port on which nothing listens.
    await stage.server.send("PUT", "/providers/ollama", { base_url: "http://127.0.0.1:9" });
    tab = await stage.open({ locale: "zh-CN", width: 390, height: 844 });
    await tab.page.getByRole("button", { name: "添加模型" }).click();
    const dialog = tab.page.getByRole("dialog", { name: "添加模型" });
    await dialog.getByLabel("服务商").selectOption({ label: "Ollama" });
    await dialog
      .getByText(/^ollama pull /u)
      .first()
      .waitFor();
    expect(await axeFindings(tab)).toEqual([]);
  });

  it("offers nothing where a person may only look", async () => {
    tab = await stage.open();
    const { page } = tab;
    await page.route("**/me", async (route) => {
      const caller = await (await route.fetch()).text();
      await route.fulfill({ body: caller.replace('"may_administer":true', '"may_administer":false') });
    });
    await page.goto(`${stage.server.url}/console/models`);
    await page.getByText("Only administrators of the server may change this.").waitFor();
    expect(await page.getByRole("button", { name: "Add a model" }).count()).toBe(0);
    expect(await axeFindings(tab)).toEqual([]);
  });
});
