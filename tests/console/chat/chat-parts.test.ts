import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import type { ModelRequest, ModelStep } from "@millrace/testing/model-server";
import {
  axeFindings,
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
} from "../console-page.ts";

/** A picture of one pixel. */
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

function answer({ messages }: ModelRequest): ModelStep {
  const at = messages.findLastIndex(({ role }) => role === "user");
  const last = String(messages[at]?.content);
  const done = messages.slice(at).filter(({ role }) => role === "tool").length;
  const create = (path: string, content: string): ModelStep => ({
    toolCalls: [{ name: "create_file", arguments: { path, content } }],
  });
  if (last.includes("long note") && done === 0) return create("long.md", "line\n".repeat(40) + "the last line\n");
  if (last.includes("a folder") && done === 0) {
    return { toolCalls: [{ name: "create_folder", arguments: { path: "plans" } }] };
  }
  if (last.includes("drafts") && done === 0) {
    return { toolCalls: [{ name: "delete_file", arguments: { path: "drafts" } }] };
  }
  if (last.includes("two notes") && done < 2) return create(`note-${done}.md`, "one\n");
  return { text: done > 0 ? "It is done." : "Good day." };
}

let stage: Stage;
let tab: Tab;

/** Brings in a conversation as it was exported elsewhere. */
async function bringIn(content: string, more: object = {}): Promise<string> {
  const messages = [
    { type: "human", id: "h", content: "hello" },
    { type: "ai", id: "a", content, additional_kwargs: more },
  ];
  const exported = { format: "millrace.session", version: 1, session_name: "Parts", graph_id: "agent", messages };
  const made = await stage.server.send("POST", "/threads/import", exported);
  return z.object({ thread_id: z.string() }).parse(await made.json()).thread_id;
}

/** Chooses how runs work. */
async function option(name: string): Promise<void> {
  await tab.page.getByRole("button", { name: "Run options" }).click();
  await tab.page.getByRole("menuitem", { name }).click();
}

describe.skipIf(chromiumPath === undefined)("what stands in a chat", () => {
  beforeAll(async () => {
    stage = await openStage(answer);
  });
  afterAll(() => stage.close());
  afterEach(() => leave(tab));

  it("draws formulas, and leaves sums of money and what is no formula as they are written (UI-02)", async () => {
    const text = [
      String.raw`In a line $x_1^2$ and \(y\).`,
      "$$\na = b\n$$",
      String.raw`\[ \sum_i i \]`,
      "From $5 to $6 a day.",
      String.raw`This is none: $\frac{1$.`,
    ].join("\n\n");
    tab = await stage.open({ path: `/t/${await bringIn(text)}` });
    const drawn = tab.page.locator(".assistant-message > .md");
    await expect.poll(() => drawn.locator("math").count()).toBe(4);
    expect(await drawn.locator(".formula-block math").count()).toBe(2);
    const script = "document.querySelector('.katex .msupsub .katex-sizing.reset-size6.size3')";
    const sizeOf = (element: string) => `parseFloat(getComputedStyle(${element}).fontSize)`;
    const share = await tab.page.evaluate(`${sizeOf(script)} / ${sizeOf(`${script}.parentElement`)}`);
    expect(Number(share)).toBeCloseTo(0.7, 2);
    await drawn.getByText("From $5 to $6 a day.").waitFor();
    await drawn.getByText(String.raw`$\frac{1$`).waitFor();
  });

  it("draws a proposal by what it is for (UI-11)", async () => {
    const kinds = ["primary", "secondary", "fix", "success", "stop"];
    const suggestions = kinds.map((kind) => ({ label: kind, kind }));
    tab = await stage.open({ path: `/t/${await bringIn("Choose.", { suggestions })}` });
    await tab.page.getByRole("button", { name: "stop", exact: true }).waitFor();
    const shown = await tab.page
      .locator(".suggestion")
      .evaluateAll((buttons) => buttons.map((button) => button.getAttribute("data-kind")));
    expect(shown).toEqual(kinds);
    const colours = await tab.page.evaluate(
      "[...document.querySelectorAll('.suggestion')].map((button) => getComputedStyle(button).color)",
    );
    expect(new Set(z.array(z.string()).parse(colours)).size).toBe(kinds.length);
  });

  it("shows attached pictures as pictures, three files and how many more (UI-08)", async () => {
    const { workspace } = stage.server.config;
    await writeFile(join(workspace, "pixel.png"), Buffer.from(pixel, "base64"));
    await writeFile(join(workspace, "broken.png"), "no picture");
    tab = await stage.open();
    await begin(tab, "hello");
    await rests(tab);
    for (const path of ["pixel.png", "missing.png", "a.md", "b.md", "c.md"]) {
      await tab.page.getByRole("button", { name: "Attach a file" }).click();
      await tab.page.getByLabel("Path in the workspace").fill(path);
      await tab.page.keyboard.press("Enter");
    }
    const attached = tab.page.locator(".composer .attachment");
    await tab.page.locator(".composer").getByRole("button", { name: "+2" }).waitFor();
    expect(await attached.count()).toBe(3);
    await say(tab, "look at them");
    const picture = tab.page.locator(".user-bubble .attachment img");
    await expect.poll(() => picture.evaluate((image) => Reflect.get(image, "naturalWidth"))).toBe(1);
    expect(await picture.count()).toBe(1);
    await tab.page.locator(".user-bubble").getByRole("button", { name: "+2" }).click();
    await expect.poll(() => tab.page.locator(".user-bubble .attachment").count()).toBe(5);
    await rests(tab);
  });

  it("shows the whole of a file that was changed, and a folder as one (UI-12)", async () => {
    tab = await stage.open();
    await begin(tab, "make a long note");
    await sees(tab, "It is done.");
    await rests(tab);
    await tab.page.getByRole("button", { name: "View the whole file" }).first().click();
    const dialog = tab.page.getByRole("dialog", { name: "long.md" });
    await dialog.getByText("the last line").waitFor();
    await dialog.getByRole("button", { name: "Before" }).click();
    await dialog.getByText("There was no file before").waitFor();
    expect(await dialog.getByText("the last line").count()).toBe(0);
    await press(tab, "Escape");
    // A folder has no lines, and what was undone says what is there now.
    await say(tab, "make a folder");
    const folder = tab.page.locator(".conversation .operations-card").filter({ hasText: "plans" });
    await folder.locator(".operation-open").click();
    await folder.getByText("This is a folder").waitFor();
    expect(await folder.getByRole("button", { name: "View the whole file" }).count()).toBe(0);
    await rests(tab);
    await folder.getByRole("button", { name: "Undo" }).click();
    await folder.getByText("Undone: the new folder is gone again").waitFor();
  });

  it("lists the files of a folder that was deleted, and opens each (UI-12)", async () => {
    const folder = join(stage.server.config.workspace, "drafts");
    await mkdir(join(folder, "old"), { recursive: true });
    await writeFile(join(folder, "new.md"), "what is new\n");
    await writeFile(join(folder, "old/first.md"), "what is old\n");
    tab = await stage.open();
    await begin(tab, "throw the drafts away");
    const approve = tab.page.locator(".approval-card").getByRole("button", { name: "Approve" });
    await approve.waitFor();
    await expect.poll(async () => (await press(tab, "a"), approve.count())).toBe(0);
    await sees(tab, "It is done.");
    await rests(tab);
    const card = tab.page.locator(".conversation .operations-card").filter({ hasText: "drafts" });
    await card.locator(".operation-open").first().click();
    await card.getByText("2 files were deleted with the folder").waitFor();
    expect(await axeFindings(tab)).toEqual([]);
    await card.getByRole("button", { name: "old/first.md 12 B" }).click();
    const dialog = tab.page.getByRole("dialog", { name: "drafts/old/first.md" });
    await dialog.getByText("what is old").waitFor();
  });

  it("says of a further tool of a guarded message that it is locked, and unlocks it (UI-08)", async () => {
    tab = await stage.open();
    await option("One tool at a time, then ask");
    await begin(tab, "make two notes");
    const card = tab.page.locator(".approval-card");
    await card.getByText("create_file is locked").waitFor();
    await card.getByRole("button", { name: "Reject" }).waitFor();
    await card.getByRole("button", { name: "Unlock" }).waitFor();
    // A card that has just appeared takes no answer, and a button that was pressed in time is never there again.
    await expect.poll(async () => (await press(tab, "a"), card.count())).toBe(0);
    await sees(tab, "It is done.");
    await rests(tab);
  });

  it("has a switch for retrieval, which a run gets (UI-18)", async () => {
    tab = await stage.open();
    await begin(tab, "hello");
    await rests(tab);
    const contextOf = async (text: string): Promise<unknown> => {
      const asked = tab.page.waitForRequest((request) => request.url().endsWith("/commands"));
      await say(tab, text);
      const { params } = z
        .object({ params: z.object({ context: z.unknown().optional() }) })
        .parse((await asked).postDataJSON());
      await rests(tab);
      return params.context;
    };
    expect(await contextOf("with it")).toBeUndefined();
    await option("Context reserved for search results");
    expect(await contextOf("without it")).toEqual({ context_shares: { rag: 0 } });
    await tab.page.reload();
    await tab.page.locator(".composer-field").waitFor();
    expect(await contextOf("still without it")).toEqual({ context_shares: { rag: 0 } });
  });
});
