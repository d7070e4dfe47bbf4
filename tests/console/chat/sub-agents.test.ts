import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { ModelRequest, ModelStep } from "@millrace/testing/model-server";
import { chatEn } from "../../../console/text/chat/en.ts";
import { workEn } from "../../../console/text/inspector/en.ts";
import { agentFiles, askedBy, hands, roundOf } from "../../agents/agent-flow.ts";
import {
  begin,
  chromiumPath,
  leave,
  openStage,
  press,
  rests,
  sees,
  storedTexts,
  type Stage,
  type Tab,
} from "../console-page.ts";

/** Where the agents wait in the middle of what they say. */
let pause = Promise.withResolvers<void>();

const scripts: Record<string, readonly (() => ModelStep)[]> = {
  caller: [
    () => ({ text: "I hand it over.", ...hands("parallel", { reader: "Read a.txt", writer: "Look around" }) }),
    () => ({ text: "Both are back." }),
  ],
  reader: [
    () => ({ toolCalls: [{ name: "read_file", arguments: { path: "a.txt" }, id: "read" }] }),
    () => ({
      chunks: ["Reader: ", "hello."],
      text: "Reader: hello.",
      hold: { after: 1, until: pause.promise },
    }),
  ],
  writer: [
    () => ({ text: "First a look.", toolCalls: [{ name: "list_files", arguments: { path: "" }, id: "list" }] }),
    () => ({ text: "Writer: nothing new." }),
  ],
};

/** Of a chat whose agents work in the background. */
const background: Record<string, readonly ModelStep[]> = {
  caller: [hands("background", { cleaner: "Remove old.md", talker: "Talk on" }), { text: "They are at work." }],
  cleaner: [
    { toolCalls: [{ name: "delete_file", arguments: { path: "old.md" }, id: "delete" }] },
    { text: "It is **gone**." },
  ],
};

function answer(request: ModelRequest): ModelStep {
  const who = askedBy(request);
  if (who === "talker")
    return { chunks: ["On ", "and on."], text: "On and on.", hold: { after: 1, until: pause.promise } };
  if (who === "cleaner" || JSON.stringify(request.messages).includes("send them off")) {
    return background[who]?.[roundOf(request)] ?? { text: "?" };
  }
  return scripts[who]?.[roundOf(request)]?.() ?? { text: "?" };
}

describe.skipIf(chromiumPath === undefined)("agents that work for a chat", () => {
  let stage: Stage;
  let tab: Tab;
  beforeAll(async () => {
    stage = await openStage(answer);
    const { workspace } = stage.server.config;
    await mkdir(join(workspace, ".autocoderagents"));
    const files = agentFiles({
      reader: { tools: "read_file" },
      writer: { tools: "list_files" },
      cleaner: { tools: "delete_file" },
      talker: { tools: "list_files" },
    });
    for (const [path, text] of Object.entries(files)) await writeFile(join(workspace, path), text);
    for (const name of ["a.txt", "old.md"]) await writeFile(join(workspace, name), "hello\n");
  });
  afterAll(() => stage.close());
  afterEach(() => leave(tab));

  it("have their words and calls inside of the call that they work for, and nowhere else", async () => {
    pause = Promise.withResolvers();
    tab = await stage.open({ height: 2_000 });
    const { page } = tab;
    /** The texts and calls of the assistant itself. */
    const own = (part: string): Promise<string[]> =>
      page.locator(`.conversation-item > .assistant-message > ${part}`).allInnerTexts();
    const thread = await begin(tab, "do both");
    const inside = page.locator(".agent-stream");
    await inside.getByText("Reader:").waitFor();
    await inside.getByText("Writer: nothing new.").waitFor();
    expect(await inside.locator(".tool-card").count()).toBe(2);
    expect(await own(".md")).toEqual(["I hand it over."]);
    expect(await page.locator(".conversation-item > .assistant-message > .tool-cards > .tool-card").count()).toBe(1);
    pause.resolve();
    await sees(tab, "Both are back.");
    await rests(tab);
    expect(await own(".md")).toEqual(["I hand it over.", "Both are back."]);
    expect(["do both", ...(await own(".md"))]).toEqual(await storedTexts(stage, thread));
    // The call closes with its end, and has all of it when it is opened.
    expect(await inside.count()).toBe(0);
    await page.locator(".tool-head").first().click();
    const texts = (await inside.locator(".md").allInnerTexts()).toSorted();
    expect(texts).toEqual(["First a look.", "Reader: hello.", "Writer: nothing new."]);
    expect(await inside.locator(".tool-card").count()).toBe(2);
    await page.reload();
    await sees(tab, "Both are back.");
    expect(await own(".md")).toEqual(["I hand it over.", "Both are back."]);
  });

  it("are listed while they work in the background and after; each is answered, stopped, and its report read", async () => {
    pause = Promise.withResolvers();
    tab = await stage.open();
    const { page } = tab;
    const list = async (): Promise<void> => {
      await page.locator(".title-bar [aria-haspopup=menu]").click();
      await page.getByRole("menuitem", { name: chatEn.agents.title, exact: true }).click();
    };
    const agent = (name: string) => page.getByRole("dialog").getByRole("region", { name, exact: true });
    const thread = await begin(tab, "send them off");
    await sees(tab, "They are at work.");
    await list();
    await agent("talker").getByText(workEn.status.running, { exact: true }).waitFor();
    await agent("cleaner").getByText("Remove old.md", { exact: true }).waitFor();
    await agent("cleaner").getByText(workEn.status.waiting, { exact: true }).waitFor();
    await agent("talker").getByRole("button", { name: chatEn.chat.stop, exact: true }).click();
    await agent("talker").getByText(workEn.status.interrupted, { exact: true }).waitFor();
    expect(await agent("talker").getByRole("button").allInnerTexts()).toEqual([chatEn.agents.open]);
    await agent("cleaner").getByRole("button", { name: chatEn.agents.answer, exact: true }).click();
    await expect.poll(() => page.url()).not.toContain(thread);
    const approve = page.locator(".approval-buttons .button-primary");
    await approve.waitFor();
    // A card that has just appeared takes no answer.
    await expect.poll(async () => (await press(tab, "a"), approve.count())).toBe(0);
    await sees(tab, "It is gone.");
    await page.goto(`${stage.server.url}/console/t/${thread}`);
    await sees(tab, "They are at work.");
    await list();
    await agent("cleaner").getByText(workEn.status.success, { exact: true }).waitFor();
    expect(await agent("cleaner").locator(".md strong").innerText()).toBe("gone");
  });
});
