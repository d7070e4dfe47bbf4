import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import type { ModelRequest, ModelStep } from "@millrace/testing/model-server";
import { projectFolder } from "../../support/source-files.ts";
import { axeFindings, begin, chromiumPath, leave, openStage, press, rests, say, sees } from "../console-page.ts";
import type { Stage, Tab } from "../console-page.ts";

let pause = Promise.withResolvers<void>();
/** The tools of each request, by what was said. */
const offered = new Map<string, readonly string[]>();

function answer({ messages, toolNames }: ModelRequest): ModelStep {
  const last = String(messages.findLast(({ role }) => role === "user")?.content);
  offered.set(last, toolNames);
  if (last.includes("a story")) {
    return { chunks: ["Once ", "upon a time."], text: "Once upon a time.", hold: { after: 1, until: pause.promise } };
  }
  return { text: `You said: ${last}` };
}

let folder: string;
let stage: Stage;
let tab: Tab;
const options = () => tab.page.locator(".slash").getByRole("option");

describe.skipIf(chromiumPath === undefined)("the field of a chat", () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-field-"));
    const graphs = {
      agent: join(projectFolder, "src/graph/workflow.ts:workflow"),
      asking: join(projectFolder, "tests/fixtures/graphs/asking.ts:graph"),
    };
    await writeFile(join(folder, "langgraph.json"), JSON.stringify({ graphs }));
    stage = await openStage(answer, { graphs: join(folder, "langgraph.json") });
  });
  afterAll(async () => {
    pause.resolve();
    await stage.close();
    await rm(folder, { recursive: true, force: true });
  });
  afterEach(() => leave(tab));

  it("offers the commands of the place behind a slash (UI-08)", async () => {
    tab = await stage.open();
    await begin(tab, "hello");
    await rests(tab);
    const field = tab.page.locator(".composer-field");
    await field.fill("/");
    await options().nth(3).waitFor();
    expect(await axeFindings(tab)).toEqual([]);
    await field.fill("/ren");
    expect(await options().allTextContents()).toEqual(["Rename/rename"]);
    expect(await field.getAttribute("aria-activedescendant")).toBe(await options().first().getAttribute("id"));
    // Escape leaves what was written, which then is a message like any other.
    await press(tab, "Escape");
    await expect.poll(() => options().count()).toBe(0);
    expect(await field.inputValue()).toBe("/ren");
    await field.fill("/c");
    await expect.poll(() => options().count()).toBeGreaterThan(1);
    await press(tab, "ArrowDown");
    await expect.poll(() => options().nth(1).getAttribute("aria-selected")).toBe("true");
    await field.fill("/rename");
    await press(tab, "Enter");
    await tab.page.locator(".title-field:focus").fill("The tidy one");
    await press(tab, "Enter");
    await tab.page.locator(".title-name").getByText("The tidy one").waitFor();
    expect(await field.inputValue()).toBe("");
    // A path is none.
    await say(tab, "/etc/hosts");
    await sees(tab, "You said: /etc/hosts");
    await rests(tab);
  });

  it("offers the files of the workspace behind an at sign, and takes the chosen one along (UI-08)", async () => {
    const { workspace } = stage.server.config;
    await mkdir(join(workspace, "notes", "old"), { recursive: true });
    await writeFile(join(workspace, "notes", "today.md"), "today");
    await writeFile(join(workspace, "notes", "tomorrow.md"), "tomorrow");
    tab = await stage.open();
    const field = tab.page.locator(".composer-field");
    await field.fill("mail ada@nowhere, and read @NO");
    await expect.poll(() => options().allTextContents()).toEqual(["notesnotes"]);
    await press(tab, "Enter");
    expect(await field.inputValue()).toBe("mail ada@nowhere, and read @notes/");
    await expect.poll(() => options().count()).toBe(3);
    expect(await axeFindings(tab)).toEqual([]);
    await field.fill("read @notes/to");
    expect(await options().allTextContents()).toEqual(["today.mdnotes/today.md", "tomorrow.mdnotes/tomorrow.md"]);
    await press(tab, "ArrowDown", "Tab");
    expect(await field.inputValue()).toBe("read ");
    await tab.page.locator(".composer").getByText("notes/tomorrow.md").waitFor();
    await begin(tab, "read it");
    await tab.page.locator(".user-bubble").getByText("notes/tomorrow.md").waitFor();
    await rests(tab);
    // What names nothing of the workspace is said as it stands.
    await say(tab, "thanks @nobody");
    await sees(tab, "You said: thanks @nobody");
    await rests(tab);
  });

  it("makes a large picture smaller before it is uploaded, and no other (UI-08)", async () => {
    tab = await stage.open();
    await tab.page.locator(".home-composer .composer-field").waitFor();
    const sizes: number[][] = [];
    for (const [width, height] of [
      [2000, 1000],
      [300, 400],
    ]) {
      const uploaded = tab.page.waitForResponse(/files\/uploads/u);
      await tab.page.evaluate(`(async () => {
        const canvas = new OffscreenCanvas(${width}, ${height});
        canvas.getContext("2d").fillRect(0, 0, 9, 9);
        const clipboardData = new DataTransfer();
        clipboardData.items.add(new File([await canvas.convertToBlob()], "large.png", { type: "image/png" }));
        document.querySelector(".composer-field").dispatchEvent(
          new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
      })()`);
      const { path } = z.object({ path: z.string() }).parse(await (await uploaded).json());
      const bytes = await readFile(join(stage.server.config.workspace, path));
      sizes.push([bytes.readUInt32BE(16), bytes.readUInt32BE(20)]);
    }
    expect(sizes).toEqual([
      [1568, 784],
      [300, 400],
    ]);
    // They go along with the first message of a chat, which is not sent before they are there.
    await expect.poll(() => tab.page.locator(".composer .attachment img").count()).toBe(2);
    await begin(tab, "look");
    await expect.poll(() => tab.page.locator(".user-bubble .attachment img").count()).toBe(2);
    await rests(tab);
  });

  it("says how the assistant works, for the chat that was begun with it too (UI-08)", async () => {
    tab = await stage.open();
    const choose = async (name: string): Promise<void> => {
      await tab.page.getByRole("button", { name: /^Run options/u }).click();
      await tab.page.getByRole("menuitem", { name }).click();
    };
    await choose("Chat: no tools");
    await begin(tab, "without tools");
    await sees(tab, "You said: without tools");
    await rests(tab);
    expect(offered.get("without tools")).toEqual([]);
    await tab.page.getByRole("button", { name: "Run options: Chat: no tools" }).waitFor();
    await choose("Agent: uses tools");
    await say(tab, "with tools");
    await sees(tab, "You said: with tools");
    await rests(tab);
    expect(offered.get("with tools")?.length).toBeGreaterThan(3);
    await tab.page.goto(`${stage.server.url}/console/`);
    await tab.page.getByRole("button", { name: "Run options", exact: true }).waitFor();
  });

  it("lets a message that waits be answered before the one in front of it (UI-08)", async () => {
    tab = await stage.open();
    const queue = tab.page.locator(".queue li");
    const thread = await begin(tab, "tell a story");
    await sees(tab, "Once");
    for (const [at, text] of ["first", "second", "third"].entries()) {
      await say(tab, text);
      await expect.poll(() => queue.count()).toBe(at + 1);
    }
    await queue.nth(1).getByRole("button", { name: "Move up" }).click();
    await expect.poll(() => queue.allInnerTexts()).toEqual(["second", "first", "third"]);
    pause.resolve();
    await sees(tab, "You said: third");
    await rests(tab);
    const Stored = z.object({ messages: z.array(z.object({ role: z.string(), content: z.string() })) });
    const stored = await stage.server.send("GET", `/threads/${thread}/messages`);
    const { messages } = Stored.parse(await stored.json());
    expect(messages.filter(({ role }) => role === "user").map(({ content }) => content)).toEqual([
      "tell a story",
      "second",
      "first",
      "third",
    ]);
  });

  it("leads to the form of a graph that takes no messages, and sends it none", async () => {
    tab = await stage.open();
    await tab.page.getByRole("button", { name: /^Choose the assistant/u }).click();
    await tab.page.getByRole("menuitem", { name: "asking" }).click();
    await tab.page.waitForURL(/\/console\/g\//u);
    await tab.page.getByText("asking takes no messages. Start it with its form.").first().waitFor();
    // It is not who answers in the next chat either.
    await tab.page.goto(`${stage.server.url}/console/`);
    await tab.page.getByRole("button", { name: "Choose the assistant: agent" }).waitFor();
    const { thread_id } = await stage.server.client.threads.create();
    await stage.server.client.runs.wait(thread_id, "asking", { input: {} });
    await tab.page.goto(`${stage.server.url}/console/t/${thread_id}`);
    const note = tab.page.getByRole("note");
    await note.getByText("asking takes no messages").waitFor();
    await tab.page.locator(".composer-field").fill("hello");
    expect(await tab.page.locator(".send-button").isDisabled()).toBe(true);
    await note.getByRole("button", { name: "Open the form" }).click();
    await tab.page.waitForURL(/\/console\/g\//u);
  });

  it("says in the head what the chat does, and what its models have used (UI-07)", async () => {
    pause = Promise.withResolvers<void>();
    tab = await stage.open();
    await begin(tab, "tell a story");
    await sees(tab, "Once");
    const head = tab.page.locator(".title-bar");
    await head.getByText("Working").waitFor();
    pause.resolve();
    await rests(tab);
    await expect.poll(() => head.getByText("Working").count()).toBe(0);
    await head.getByRole("img", { name: /^[\d,]+ input tokens, [\d,]+ output tokens$/u }).waitFor();
  });
});
