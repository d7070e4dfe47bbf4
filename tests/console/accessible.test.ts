import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import type { ModelRequest, ModelStep } from "@millrace/testing/model-server";
import {
  begin,
  chromiumPath,
  leave,
  openStage,
  press,
  rests,
  say,
  sees,
  type Stage,
  type Tab,
} from "./console-page.ts";

let held = Promise.withResolvers<void>();
let fails = false;

function answer({ messages }: ModelRequest): ModelStep {
  const at = messages.findLastIndex(({ role }) => role === "user");
  const last = String(messages[at]?.content);
  if (last === "fail" && fails) return { fault: { kind: "status", status: 400 } };
  if (messages.slice(at).some(({ role }) => role === "tool")) return { text: "It is done." };
  if (last.includes("clean up")) {
    const paths = last.includes("both") ? ["old.md", "other.md"] : ["old.md"];
    return { toolCalls: paths.map((path) => ({ name: "delete_file", arguments: { path } })) };
  }
  if (last.includes("make")) return { toolCalls: [{ name: "create_file", arguments: { path: "a.md", content: "a" } }] };
  if (last.includes("slowly")) {
    return { chunks: ["One **bold**", " word."], text: "One **bold** word.", hold: { after: 1, until: held.promise } };
  }
  return { text: `You said: ${last}` };
}

let stage: Stage;
let tab: Tab;

const Said = z.array(z.tuple([z.string(), z.string()]));

/** Writes down what live regions say from now on, with how urgent it is. */
async function listen({ page }: Tab): Promise<() => Promise<string[]>> {
  await page.evaluate(`{
    window.said = [];
    const urgencies = { status: "polite", alert: "assertive" };
    new MutationObserver((changes) => {
      for (const { target } of changes) {
        const element = target.nodeType === Node.ELEMENT_NODE ? target : target.parentElement;
        const regions = new Set([element?.closest("[aria-live], [role=status], [role=alert]")]);
        for (const alert of element?.querySelectorAll("[role=alert]") ?? []) regions.add(alert);
        for (const region of regions) {
          const text = region?.textContent.trim() ?? "";
          const urgency = region?.getAttribute("aria-live") ?? urgencies[region?.getAttribute("role")];
          const last = window.said.findLast(([, of]) => of === region);
          if (text !== "" && urgency !== "off" && last?.[0] !== urgency + ": " + text) window.said.push([urgency + ": " + text, region]);
        }
      }
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  }`);
  return async () => Said.parse(await page.evaluate("window.said.map(([text]) => [text, ''])")).map(([text]) => text);
}

const focused = (): Promise<unknown> =>
  tab.page.evaluate("document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.className");

describe.skipIf(chromiumPath === undefined)("the console for who does not see it", () => {
  beforeAll(async () => {
    stage = await openStage(answer);
  });
  afterAll(() => stage.close());
  afterEach(() => leave(tab));

  it("says that an answer comes, and reads it out once when it is complete", async () => {
    held = Promise.withResolvers();
    tab = await stage.open();
    await begin(tab, "hello");
    await rests(tab);
    const said = await listen(tab);
    await say(tab, "slowly");
    await expect.poll(said).toContain("polite: Answering");
    expect((await said()).filter((text) => text.includes("bold"))).toEqual([]);
    held.resolve();
    await rests(tab);
    await expect
      .poll(async () => (await said()).filter((text) => text.includes("bold")))
      .toEqual(["polite: The assistant said: One bold word."]);
  });

  it("interrupts for a question, in whichever chat it is asked, and for a failure", async () => {
    tab = await stage.open();
    const thread = await begin(tab, "hello");
    await rests(tab);
    await sees(tab, "You said: hello");
    const said = await listen(tab);
    await writeFile(join(stage.server.config.workspace, "old.md"), "old\n");
    const { client } = stage.server;
    const { thread_id } = await client.threads.create();
    await client.runs.create(thread_id, "agent", { input: { messages: [{ role: "user", content: "clean up" }] } });
    await expect
      .poll(said)
      .toContainEqual(expect.stringMatching(/^assertive: Something is waiting for your decision: /u));
    fails = true;
    await say(tab, "fail");
    await expect.poll(said).toContainEqual(expect.stringMatching(/^assertive: .*400/u));
    fails = false;
    await tab.page.route(`**/threads/${thread}/info`, (route) =>
      route.request().method() === "PATCH"
        ? route.fulfill({ status: 500, json: { error: "x", message: "It broke." } })
        : route.fallback(),
    );
    await tab.page.locator(".title-name button").click();
    await tab.page.keyboard.type("Another name");
    await tab.page.keyboard.press("Enter");
    await expect.poll(said).toContainEqual(expect.stringMatching(/^assertive: It broke\./u));
  });

  it("gives the focus back when a dialog, a menu or the palette closes", async () => {
    tab = await stage.open();
    const { page } = tab;
    await begin(tab, "make a note");
    await sees(tab, "It is done.");
    await rests(tab);
    for (const [name, role] of [
      ["Changes", "dialog"],
      ["More actions", "menu"],
    ] as const) {
      await page.locator(".title-bar").getByRole("button", { name }).focus();
      await press(tab, "Enter");
      // It receives keys when it has the focus, a moment after it is shown.
      await page.locator(`[role=${role}]:focus-within`).waitFor();
      await press(tab, "Escape");
      await page.getByRole(role).waitFor({ state: "detached" });
      await expect.poll(focused).toBe(name);
    }
    await page.locator(".title-bar").getByRole("button", { name: "More actions" }).focus();
    await press(tab, "Enter");
    await page.locator("[role=menu]:focus-within").waitFor();
    await press(tab, "Shift+Tab");
    await page.getByRole("menu").waitFor({ state: "detached" });
    await expect.poll(focused).toBe("Changes");
    await page.locator("[data-edit]").focus();
    await press(tab, "Enter");
    await page.locator(".edit-message textarea:focus").waitFor();
    await press(tab, "Escape");
    await expect.poll(focused).toBe("Edit and run again");
    await page.locator(".title-bar").getByRole("button", { name: "More actions" }).focus();
    await press(tab, "Control+k");
    await page.locator(".palette-field:focus").waitFor();
    await press(tab, "Escape");
    await expect.poll(focused).toBe("More actions");
  });

  it("goes on with the next chat when one is deleted, and with the field when nothing waits any more", async () => {
    tab = await stage.open();
    const { page } = tab;
    for (const text of ["first", "second", "third"]) {
      await begin(tab, text);
      await sees(tab, `You said: ${text}`);
      await rests(tab);
      await page.evaluate('history.pushState(null, "", "/console/")');
      await page.locator(".home").waitFor();
    }
    await page.getByRole("button", { name: "Actions for second" }).focus();
    await press(tab, "Enter");
    await page.getByRole("menuitem", { name: "Delete" }).focus();
    await press(tab, "Enter");
    await page.getByRole("button", { name: "Actions for second" }).waitFor({ state: "detached" });
    await expect.poll(() => page.locator(".thread-link:focus").innerText()).toContain("first");
    for (const name of ["old.md", "other.md"]) await writeFile(join(stage.server.config.workspace, name), "old\n");
    await begin(tab, "clean up both");
    const cards = page.locator(".approval-dock .approval-card");
    await expect.poll(() => cards.count()).toBe(2);
    await cards.first().focus();
    // A card that has just appeared takes no answer.
    const decided = async (left: number): Promise<boolean> => {
      if ((await cards.count()) > left) await press(tab, "a");
      return (await cards.count()) === left;
    };
    await expect.poll(() => decided(1)).toBe(true);
    // Not on the other card, which the same key would approve.
    await page.locator(".conversation:focus").waitFor();
    await press(tab, "j");
    await page.locator(".approval-card:focus").waitFor();
    await expect.poll(() => decided(0)).toBe(true);
    await page.locator(".composer-field:focus").waitFor();
    await sees(tab, "It is done.");
  });
});
