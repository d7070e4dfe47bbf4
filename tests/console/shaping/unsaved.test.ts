import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { chromiumPath, leave, openStage, type Stage, type Tab } from "../console-page.ts";

let stage: Stage;
let tab: Tab;

const workspace = (name: string): string => join(stage.server.config.workspace, name);
const read = async (path: string): Promise<string> => (await stage.server.send("GET", path)).text();
const save = (path: string, content: string) => stage.server.send("PUT", path, { content });
const field = () => tab.page.locator(".prompt-text textarea").first();
const netlist = (resistance: string, note = ""): string =>
  `Low-pass\nV1 in 0 dc 0 ac 1\nR1 in out ${resistance}\nC1 out 0 1u\n.ac dec 2 1 1k\n${note}.end\n`;
const writeFileOf = async (name: string, text: string): Promise<void> => {
  await mkdir(dirname(workspace(name)), { recursive: true });
  await writeFile(workspace(name), text);
};

/** A circuit that was simulated with 1 kΩ, then with 2 kΩ, and is open in a tab. */
async function openCircuit(name: string): Promise<void> {
  const { thread_id } = await stage.server.client.threads.create();
  for (const resistance of ["1k", "2k"]) {
    await writeFileOf(name, netlist(resistance));
    const path = `/threads/${thread_id}/tools/run_simulation/run`;
    const answer = await stage.server.send("POST", path, { args: { circuit: name } });
    expect(await answer.text()).toContain('"success":true');
  }
  tab = await stage.open({ path: `/circuits?name=${name}&part=netlist` });
  await tab.page.getByRole("button", { name: "No. 1" }).click();
}

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

  it("is asked about before the built-in prompt takes its place, and the saved one comes back", async () => {
    const path = "/prompts/confirmation";
    await save(path, "Say {keywords} at first.");
    tab = await stage.open({ path });
    const { page } = tab;
    await field().fill("Say {keywords} later.");
    const reset = page.getByRole("button", { name: "Reset" });
    const question = page.getByRole("dialog");
    await reset.click();
    // A toast would say that it was reset.
    await question.or(page.locator(".toast")).first().waitFor();
    expect(await read(path)).toContain("at first");
    await question.getByRole("button", { name: "Cancel" }).click();
    expect(await field().inputValue()).toContain("later");
    await reset.click();
    await question.getByRole("button", { name: "Reset" }).click();
    await expect.poll(() => read(path)).toContain('"source":"builtin"');
    await expect.poll(() => field().inputValue()).not.toContain("later");
    await page.locator(".toast").getByRole("button", { name: "Undo" }).click();
    await expect.poll(() => read(path)).toContain("at first");
  });

  it("is asked about before a former netlist takes its place", async () => {
    await openCircuit("asked.cir");
    const { page } = tab;
    await field().fill(netlist("2k", "* mine\n"));
    const back = page.getByRole("button", { name: "Restore this one" });
    const question = page.getByRole("dialog");
    const stored = () => readFile(workspace("asked.cir"), "utf8");
    await back.click();
    // A toast would say that it is there again.
    await question.or(page.locator(".toast")).first().waitFor();
    expect(await stored()).toBe(netlist("2k"));
    await question.getByRole("button", { name: "Cancel" }).click();
    expect(await field().inputValue()).toContain("* mine");
    await back.click();
    await question.getByRole("button", { name: "Restore this one" }).click();
    await expect.poll(stored).toBe(netlist("1k"));
    await expect.poll(() => field().inputValue()).toBe(netlist("1k"));
    await question.waitFor({ state: "detached" });
  });

  it("is what a former netlist becomes where another has written meanwhile", async () => {
    await openCircuit("former.cir");
    const { page } = tab;
    const stored = () => readFile(workspace("former.cir"), "utf8");
    await writeFileOf("former.cir", netlist("3k", "* theirs\n"));
    await page.getByRole("button", { name: "Restore this one" }).click();
    const question = page.locator(".changed-elsewhere");
    await question.or(page.locator(".toast")).first().waitFor();
    expect(await stored()).toContain("* theirs");
    await question.locator(".diff [data-kind=removed]").getByText("* theirs").waitFor();
    await page.getByRole("button", { name: "Overwrite with mine" }).click();
    await expect.poll(stored).toBe(netlist("1k"));
    await question.waitFor({ state: "detached" });
  });

  it.each([
    // And how many tokens it has.
    [
      "a prompt",
      2,
      /\/(prompts\/confirmation\/validate|tokens\/count)$/u,
      () => Promise.resolve("/prompts/confirmation"),
    ],
    [
      "a rule",
      1,
      /\/rules\/.*\/validate$/u,
      async () => {
        await writeFileOf(".autocoderrules/kind.md", "---\nalwaysApply: true\n---\nBe.\n");
        return "/rules?path=.autocoderrules/kind.md";
      },
    ],
    [
      "a circuit",
      1,
      /\/circuits\/parse$/u,
      async () => {
        await writeFileOf("typed.cir", netlist("1k"));
        return "/circuits?name=typed.cir&part=netlist";
      },
    ],
  ])("is checked when the typing pauses, not at each key: %s (UI-14)", async (_, requests, checks, begin) => {
    tab = await stage.open({ path: await begin() });
    const { page } = tab;
    await page.clock.install();
    await page.reload();
    const opens = page.getByRole("button", { name: /^Edit/u });
    await field().or(opens).first().waitFor();
    if ((await field().count()) === 0) await opens.first().click();
    await field().press("ControlOrMeta+Home");
    const checked: string[] = [];
    page.on("request", (request) => {
      if (checks.test(request.url())) checked.push(request.postData() ?? "");
    });
    const typed = () => checked.filter((body) => body.includes("Q"));
    await page.clock.pauseAt(Number(await page.evaluate("Date.now()")) + 60_000);
    try {
      await field().pressSequentially("Quern");
      await page.clock.runFor(299);
      expect(typed()).toEqual([]);
    } finally {
      // The next test may get the same page.
      await page.clock.resume();
    }
    await expect.poll(typed).toEqual(Array.from({ length: requests }, () => expect.stringContaining("Quern")));
  });
});
