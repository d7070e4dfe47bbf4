import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { chromiumPath, leave, openStage, type Stage, type Tab } from "../console-page.ts";

let stage: Stage;
let tab: Tab;

const read = async (path: string): Promise<string> => (await stage.server.send("GET", path)).text();
const save = (path: string, content: string) => stage.server.send("PUT", path, { content });
const field = () => tab.page.locator(".prompt-text textarea").first();

describe.skipIf(chromiumPath === undefined)("what is written and not saved", () => {
  beforeAll(async () => {
    stage = await openStage(() => ({ text: "ok" }));
  });
  afterAll(() => stage.close());
  afterEach(() => leave(tab));

  it.each([
    ["a prompt", "/prompts/confirmation", "/prompts/confirmation"],
    ["an identity", "/identity/general", "/identity?profile=general"],
  ])("does not replace what another has saved meanwhile without a question: %s", async (_, address, path) => {
    await save(path, "Say {keywords} at first.");
    tab = await stage.open({ path: address });
    const { page } = tab;
    await field().fill("Say {keywords} as I do.");
    await save(path, "Say {keywords} as they do.");
    await field().press("ControlOrMeta+s");
    const question = page.locator(".changed-elsewhere");
    // A toast would say that it was saved.
    await question.or(page.locator(".toast")).first().waitFor();
    expect(await read(path)).toContain("as they do");
    await question.locator(".diff [data-kind=removed]").getByText("as they do").waitFor();
    // A reload does not make another text the one that it began with.
    await page.reload();
    await question.waitFor();
    expect(await field().inputValue()).toContain("as I do");
    await page.getByRole("button", { name: "Overwrite with mine" }).click();
    await expect.poll(() => read(path)).toContain("as I do");
    await question.waitFor({ state: "detached" });
  });
});
