import { access, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { ModelRequest, ModelStep } from "@millrace/testing/model-server";
import {
  axeFindings,
  begin,
  chromiumPath,
  editLast,
  leave,
  openStage,
  press,
  rests,
  sees,
  shownTexts,
} from "../console-page.ts";
import type { Stage, Tab } from "../console-page.ts";

/** Where the model waits in the middle of its plan. */
const pause = Promise.withResolvers<void>();

const plan = (...states: string[]): ModelStep => ({
  toolCalls: [
    {
      name: "write_todos",
      arguments: {
        todos: states.map((status, at) => ({ content: ["Look around", "Write it", "Read it"][at], status })),
      },
    },
  ],
});

function answer({ messages }: ModelRequest): ModelStep {
  const at = messages.findLastIndex(({ role }) => role === "user");
  const last = String(messages[at]?.content);
  const done = messages.slice(at).filter(({ role }) => role === "tool").length;
  const create = (path: string): ModelStep => ({
    toolCalls: [{ name: "create_file", arguments: { path, content: "first\nsecond\n" } }],
  });
  if (last.includes("make a note") && done === 0) return create("note.md");
  if (last.includes("read the log") && done === 0) {
    return { toolCalls: [{ name: "search_content", arguments: { path: ".", regex: "of the log" } }] };
  }
  if (last.includes("plan")) {
    const steps = [
      plan("in_progress", "pending", "pending"),
      plan("completed", "in_progress", "pending"),
      plan("completed", "completed", "completed"),
    ];
    const step = steps[done];
    if (step !== undefined) return done === 1 ? { ...step, hold: { after: 0, until: pause.promise } } : step;
  }
  return { text: done > 0 ? "It is done: `note.md`, see [the note](note.md) or `Array.from`." : `You said: ${last}` };
}

let stage: Stage;
let tab: Tab;
const file = (name: string): string => join(stage.server.config.workspace, name);
const isThere = (name: string): Promise<boolean> =>
  access(file(name)).then(
    () => true,
    () => false,
  );

describe.skipIf(chromiumPath === undefined)("calls of tools in a chat", () => {
  beforeAll(async () => {
    stage = await openStage(answer);
  });
  afterAll(async () => {
    pause.resolve();
    await stage.close();
  });
  afterEach(async () => {
    await rm(file("note.md"), { force: true });
    await leave(tab);
  });

  it("asks before a message is sent again what to do with the files that were changed since", async () => {
    tab = await stage.open();
    await begin(tab, "make a note");
    await sees(tab, "It is done");
    await rests(tab);
    const dialog = tab.page.getByRole("dialog");
    const edit = async (text: string): Promise<void> => {
      await editLast(tab);
      await tab.page.getByRole("textbox", { name: "Edit and run again" }).fill(text);
      await press(tab, "Enter");
    };
    await edit("good day");
    await dialog.getByText("What should happen to 1 change made since then?").waitFor();
    await dialog.getByText("note.md").waitFor();
    expect(await axeFindings(tab)).toEqual([]);
    // Taken back: nothing is run, and what was written stays in its field.
    await dialog.getByRole("button", { name: "Cancel" }).click();
    expect(await tab.page.getByRole("textbox", { name: "Edit and run again" }).inputValue()).toBe("good day");
    await tab.page.getByRole("button", { name: "Save and run again" }).click();
    await dialog.getByRole("button", { name: "Keep the files" }).click();
    await sees(tab, "You said: good day");
    await rests(tab);
    expect(await isThere("note.md")).toBe(true);
  });

  it("takes the files back first where that is chosen, also when an answer is given anew", async () => {
    tab = await stage.open();
    await begin(tab, "make a note");
    await sees(tab, "It is done");
    await rests(tab);
    expect(await isThere("note.md")).toBe(true);
    await tab.page.getByRole("button", { name: "Regenerate" }).last().click();
    const dialog = tab.page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Undo, then run" }).click();
    await dialog.waitFor({ state: "detached" });
    // It could be made once more only where it was away; until then the former answer stands there.
    await expect.poll(() => readFile(file("note.md"), "utf8").catch(() => "")).toBe("first\nsecond\n");
    await rests(tab);
    await expect.poll(() => tab.page.locator(".conversation .tool-card[data-status=done]").count()).toBe(1);
  });

  it("opens all of a result of which the model was given a part", async () => {
    const lines = Array.from({ length: 100 }, (_, line) => `line ${line} of the log, with some words behind it`);
    await writeFile(file("long.log"), lines.join("\n"));
    const { client } = stage.server;
    const { thread_id } = await client.threads.create();
    const input = { messages: [{ role: "user", content: "read the log" }] };
    await client.runs.wait(thread_id, "agent", { input, context: { limits: { tool_result_max_length: 500 } } });
    tab = await stage.open({ path: `/t/${thread_id}` });
    await sees(tab, "It is done");
    const card = tab.page.locator(".tool-card");
    await card.locator(".tool-head").click();
    expect(await card.locator(".tool-result").textContent()).not.toContain("line 50 of");
    await card.getByRole("button", { name: /^All [\d,]+ characters/u }).click();
    await card.getByText("line 50 of the log").waitFor();
  });

  it("runs a call again by hand, with other arguments, and says before what it would do", async () => {
    tab = await stage.open();
    await begin(tab, "make a note");
    await sees(tab, "It is done");
    await rests(tab);
    const card = tab.page.locator(".tool-card").filter({ hasText: "note.md" });
    await card.locator(".tool-head").click();
    await card.getByRole("button", { name: "Run again" }).click();
    const dialog = tab.page.getByRole("dialog");
    const path = dialog.getByLabel(/^path/u);
    // A text of several lines keeps them.
    expect(await dialog.getByLabel(/^content/u).inputValue()).toBe("first\nsecond\n");
    await path.fill("copy.md");
    await dialog.locator(".diff").getByText("second").waitFor();
    await dialog.locator(".effect-tool").getByText("copy.md").waitFor();
    expect(await axeFindings(tab)).toEqual([]);
    expect(await isThere("copy.md")).toBe(false);
    await dialog.getByRole("button", { name: "Run", exact: true }).click();
    await dialog.locator(".tool-result").waitFor();
    expect(await readFile(file("copy.md"), "utf8")).toBe("first\nsecond\n");
    await press(tab, "Escape");
    await tab.page.locator(".operations-card").filter({ hasText: "copy.md" }).waitFor();
  });

  it("draws a plan with what of it is done, as it goes on and after a reload", async () => {
    tab = await stage.open();
    await begin(tab, "work by a plan");
    const card = tab.page.getByRole("region", { name: "Plan" });
    await card.getByText("0 of 3 done").waitFor();
    await tab.page.locator(".working").getByText("Working: Look around").waitFor();
    pause.resolve();
    await card.getByText("3 of 3 done").waitFor();
    await rests(tab);
    expect(await card.count()).toBe(1);
    expect(await tab.page.locator(".note-line").allTextContents()).toEqual(["Plan: 0 of 3 done", "Plan: 1 of 3 done"]);
    expect(await axeFindings(tab)).toEqual([]);
    await tab.page.reload();
    await card.getByText("3 of 3 done").waitFor();
    await card.getByRole("img", { name: "Done" }).nth(2).waitFor();
  });

  it("opens the file that a text or a call names, and what the chat changed in it (UI-12)", async () => {
    tab = await stage.open();
    await begin(tab, "make a note");
    await sees(tab, "It is done");
    await rests(tab);
    const dialog = tab.page.getByRole("dialog");
    const links = tab.page.locator(".assistant-message .md .file-link");
    expect(await links.allTextContents()).toEqual(["note.md", "the note"]);
    for (const link of await links.all()) {
      await link.click();
      await dialog.locator(".operations-card").getByText("note.md").waitFor();
      await dialog.getByText("second").waitFor();
      await press(tab, "Escape");
      await dialog.waitFor({ state: "detached" });
    }
    const card = tab.page.locator(".tool-card").filter({ hasText: "note.md" });
    await card.locator(".tool-head").click();
    await tab.page.route("**/files/content*", (route) => route.fulfill({ status: 404, json: { message: "No." } }));
    await card.locator(".file-link").click();
    await dialog.getByText("There is no such file in the workspace").waitFor();
    expect(await shownTexts(tab)).toContain("make a note");
  });
});
