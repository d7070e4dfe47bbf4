import { access, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import type { ModelRequest, ModelStep } from "@millrace/testing/model-server";
import { axeFindings, begin, chromiumPath, leave, openStage, press, rests, say, sees } from "../console-page.ts";
import type { Stage, Tab } from "../console-page.ts";

function answer({ messages }: ModelRequest): ModelStep {
  const at = messages.findLastIndex(({ role }) => role === "user");
  const [, name] = /^clean up (\S+)$/u.exec(String(messages[at]?.content)) ?? [];
  if (name === undefined || messages.slice(at).some(({ role }) => role === "tool")) return { text: "It is done." };
  return { toolCalls: name.split(",").map((path) => ({ name: "delete_file", arguments: { path } })) };
}

let stage: Stage;
let tab: Tab;
const file = (name: string): string => join(stage.server.config.workspace, name);
const isThere = (name: string): Promise<boolean> =>
  access(file(name)).then(
    () => true,
    () => false,
  );

/** Starts a chat that asks whether a file may be deleted; gives the chat's id. */
async function ask(names: string): Promise<string> {
  for (const name of names.split(",")) await writeFile(file(name), `${name}\n`);
  await tab.page.goto(`${stage.server.url}/console/`);
  const thread = await begin(tab, `clean up ${names}`);
  await tab.page.locator(".approval-card").first().waitFor();
  return thread;
}

describe.skipIf(chromiumPath === undefined)("decisions", () => {
  beforeAll(async () => {
    stage = await openStage(answer, { approvalTimeoutHours: 1 });
  });
  afterAll(() => stage.close());
  afterEach(() => leave(tab));

  it("changes the arguments of a call in a form by the tool's schema, and shows what it would do then (UI-13)", async () => {
    tab = await stage.open();
    await ask("one.md");
    await writeFile(file("two.md"), "the second\n");
    const card = tab.page.locator(".approval-card");
    await card.getByRole("button", { name: /^Edit/u }).click();
    const path = card.getByLabel(/^path/u);
    await path.fill("");
    await card.getByRole("button", { name: "Approve" }).click();
    // What does not fit the schema is not sent.
    await card.locator(".error-detail, .text-danger").first().waitFor();
    await path.fill("two.md");
    await card.getByRole("status").getByText("the second").waitFor();
    expect(await axeFindings(tab)).toEqual([]);
    await card.getByRole("button", { name: "JSON" }).click();
    expect(JSON.parse(await card.getByRole("textbox", { name: "Arguments" }).inputValue())).toEqual({ path: "two.md" });
    await card.getByRole("button", { name: "Approve" }).click();
    await sees(tab, "It is done.");
    await rests(tab);
    expect([await isThere("one.md"), await isThere("two.md")]).toEqual([true, false]);
  });

  it("lists what is always allowed, and takes it back: then it is asked about again (UI-13)", async () => {
    tab = await stage.open();
    const thread = await ask("one.md");
    const card = tab.page.locator(".approval-card");
    await card.getByRole("button", { name: /^Always allow/u }).click();
    await card.getByRole("textbox", { name: /^Don’t ask again/u }).fill("*.md");
    await card.getByRole("button", { name: "Approve" }).click();
    await sees(tab, "It is done.");
    await rests(tab);
    await writeFile(file("two.md"), "two\n");
    await say(tab, "clean up two.md");
    await expect.poll(() => isThere("two.md")).toBe(false);
    await rests(tab);
    await tab.page.getByRole("button", { name: "More actions" }).click();
    await tab.page.getByRole("menuitem", { name: "Always allowed here" }).click();
    const dialog = tab.page.getByRole("dialog");
    await dialog.getByText("*.md").waitFor();
    expect(await axeFindings(tab)).toEqual([]);
    await dialog.getByRole("button", { name: "Revoke: delete_file on *.md" }).click();
    await dialog.getByText("This chat asks every time").waitFor();
    expect(await (await stage.server.send("GET", `/threads/${thread}/grants`)).json()).toEqual([]);
    await press(tab, "Escape");
    await writeFile(file("three.md"), "three\n");
    await say(tab, "clean up three.md");
    await card.waitFor();
    expect(await isThere("three.md")).toBe(true);
    // In a field a letter is a letter, and no key is shown; from anywhere else the keys are those of the only card.
    const key = card.locator("kbd").first();
    await tab.page.locator(".composer-field").focus();
    await expect.poll(() => key.isVisible()).toBe(false);
    await press(tab, "a");
    expect(await tab.page.locator(".composer-field").inputValue()).toBe("a");
    await tab.page.locator(".composer-field").fill("");
    await tab.page.locator("main").focus();
    await key.waitFor();
    // Two keys of a place are none of a card.
    await press(tab, "g", "a");
    await tab.page.getByRole("heading", { name: "Agents and rules" }).waitFor();
    expect(await isThere("three.md")).toBe(true);
    await tab.page.goBack();
    await key.waitFor();
    // A card that has just appeared takes no answer.
    await expect.poll(async () => (await press(tab, "a"), card.count())).toBe(0);
    await rests(tab);
  });

  it("puts questions off apart from the others, and approves those that are marked at once (UI-13)", async () => {
    tab = await stage.open();
    await ask("a.md");
    const thread = await ask("b.md");
    await ask("c.md");
    await tab.page.goto(`${stage.server.url}/console/inbox`);
    const cards = tab.page.locator(".inbox .approval-card");
    const card = (name: string) => cards.filter({ hasText: name });
    await expect.poll(() => cards.count()).toBe(3);
    await card("b.md").focus();
    await press(tab, "l");
    await expect.poll(() => cards.count()).toBe(2);
    await tab.page.reload();
    await expect.poll(() => cards.count()).toBe(2);
    await tab.page.getByRole("button", { name: "1 question is postponed" }).click();
    await card("b.md").getByRole("button", { name: "Show again" }).click();
    await expect.poll(() => cards.count()).toBe(3);

    await tab.page.getByRole("button", { name: "Approve several" }).click();
    const dialog = tab.page.getByRole("dialog");
    // Each with what it would do; none is meant before it is marked.
    await dialog.locator(".diff").nth(2).waitFor();
    expect(await dialog.getByRole("button", { name: "Approve 0" }).isDisabled()).toBe(true);
    expect(await axeFindings(tab)).toEqual([]);
    await dialog.getByRole("checkbox", { name: "All 3" }).check();
    await dialog.locator("section").filter({ hasText: "b.md" }).getByRole("checkbox").uncheck();
    await dialog.getByRole("button", { name: "Approve 2" }).click();
    await tab.page.getByText("2 calls approved").waitFor();
    await expect.poll(() => cards.count()).toBe(1);
    await card("b.md").waitFor();
    await expect
      .poll(async () => [await isThere("a.md"), await isThere("b.md"), await isThere("c.md")])
      .toEqual([false, true, false]);
    // The last one is answered by keys alone, and without a reason: that is a no of the person, not an error.
    const reason = tab.page.getByRole("textbox", { name: "Reason (optional)" });
    await tab.page.locator("main").focus();
    await expect.poll(async () => (await press(tab, "r"), reason.count())).toBe(1);
    await reason.fill("");
    await press(tab, "Enter");
    await expect.poll(() => cards.count()).toBe(0);
    await tab.page.goto(`${stage.server.url}/console/t/${thread}`);
    await sees(tab, "You rejected this call");
    expect(await tab.page.getByText("Error (denied)").count()).toBe(0);
  });

  it("takes no click for a card that has just moved to where another one was", async () => {
    tab = await stage.open();
    const first = await ask("a.md");
    await ask("b.md");
    await ask("c.md");
    const { page } = tab;
    await page.goto(`${stage.server.url}/console/inbox`);
    const cards = page.locator(".inbox .approval-card");
    /** Presses the button as it is now, without waiting for it; gives how many cards there are then. */
    const approve = async (name: string): Promise<number> => {
      const button = cards.filter({ hasText: name }).getByRole("button", { name: /^Approve/u });
      await button.evaluateAll((found) => found[0]?.dispatchEvent(new Event("click", { bubbles: true })));
      return await cards.count();
    };
    await expect.poll(() => cards.count()).toBe(3);
    // All of them have been there long enough to be meant.
    await expect.poll(() => approve("c.md")).toBe(2);
    let answers = 0;
    page.on("request", (request) => {
      if (request.method() === "POST" && request.url().includes("/approvals/")) answers += 1;
    });
    // A click in the moment in which the card above is gone, since another user has answered.
    await page.evaluate(`{
      const [first, second] = document.querySelectorAll(".inbox .approval-card");
      const button = [...second.querySelectorAll("button")].find(({ textContent }) => textContent.startsWith("Approve"));
      const observer = new MutationObserver(() => {
        if (first.isConnected) return;
        observer.disconnect();
        button.click();
      });
      observer.observe(document.body, { childList: true, subtree: true });
    }`);
    const [approval] = z
      .array(z.object({ id: z.string() }))
      .parse(await (await stage.server.send("GET", `/threads/${first}/approvals`)).json());
    await stage.server.send("POST", `/threads/${first}/approvals/${approval?.id ?? ""}`, { type: "reject" });
    await expect.poll(() => cards.count()).toBe(1);
    expect(answers).toBe(0);
    await expect.poll(() => approve("b.md")).toBe(0);
    await expect.poll(() => isThere("b.md")).toBe(false);
  });

  it("says of a question how long there is to answer, and when that is over (UI-13)", async () => {
    tab = await stage.open({ width: 390, height: 844 });
    await ask("late.md");
    const left = tab.page.locator(".approval-times time").last();
    await expect.poll(() => left.textContent()).toMatch(/^Rejected automatically in (?:1 h|60 min|59 min)/u);
    const minute = 60_000;
    await tab.page.clock.setFixedTime(Date.now() + 57 * minute);
    await expect.poll(() => left.textContent()).toMatch(/^Rejected automatically in [23] min/u);
    await tab.page.clock.setFixedTime(Date.now() + 61 * minute);
    await expect.poll(() => left.textContent()).toBe("Time is up: it is rejected");
  });
});
