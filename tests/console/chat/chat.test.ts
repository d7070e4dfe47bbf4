import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { ModelRequest, ModelStep } from "@millrace/testing/model-server";
import {
  begin,
  chromiumPath,
  editLast,
  leave,
  openStage,
  rests,
  say,
  sees,
  shownTexts,
  storedTexts,
  type Stage,
  type Tab,
} from "../console-page.ts";

const story = "Once upon a time there was a small mill at a river.";
const rest = "And it turns to this day.";
const lines = Array.from({ length: 120 }, (_, index) => `Line ${index + 1}`);
const marks = `## A heading

**bold**, *italic*, \`code\` and [a link](https://example.com/).

- one
- two

| a | b |
|---|---|
| c | d |

\`\`\`json
{"number": 1}
\`\`\``;

let stage: Stage;
/** Where the model waits in the middle of its story. */
let pause = Promise.withResolvers<void>();

function answer({ messages }: ModelRequest): ModelStep {
  const users = messages.filter(({ role }) => role === "user").map(({ content }) => String(content));
  const last = users.at(-1) ?? "";
  const tool = messages.at(-1);
  if (tool?.role === "tool") return { text: `The tool said: ${String(tool.content).slice(0, 40)}` };
  if (messages.at(-2)?.role === "assistant" && messages.at(-2)?.content === story) return { text: rest };
  if (last.includes("list")) return { text: "I look.", toolCalls: [{ name: "list_files", arguments: { path: "" } }] };
  if (last.includes("missing")) return { toolCalls: [{ name: "read_file", arguments: { path: "missing.md" } }] };
  if (last.includes("think")) {
    return { reasoning: "A mill needs water.", text: "It needs water.", hold: { after: 1, until: pause.promise } };
  }
  if (last.includes("marks")) return { text: marks };
  if (last.includes("long story")) {
    return {
      chunks: [lines.slice(0, 60).join("\n\n"), "\n\n", lines.slice(60).join("\n\n")],
      hold: { after: 1, until: pause.promise },
    };
  }
  if (last.includes("story")) {
    return { chunks: [story, " ", rest], text: `${story} ${rest}`, hold: { after: 1, until: pause.promise } };
  }
  return { text: `You said: ${last}` };
}

describe.skipIf(chromiumPath === undefined)("a chat in the console", () => {
  let tab: Tab;
  beforeAll(async () => {
    stage = await openStage(answer);
  });
  afterAll(async () => {
    pause.resolve();
    await stage.close();
  });
  afterEach(async () => {
    await leave(tab);
    pause.resolve();
    pause = Promise.withResolvers<void>();
  });

  it("shows what was said, thought and done, and has each text once after a reload", async () => {
    tab = await stage.open();
    const thread = await begin(tab, "please list");
    await sees(tab, /^The tool said/u);
    await tab.page.getByRole("button", { name: /List/u }).click();
    await tab.page.getByText("list_files", { exact: true }).waitFor();
    await say(tab, "please read what is missing");
    await tab.page.locator('.tool-card[data-status="failed"]').getByText("missing.md").first().waitFor();
    expect(await tab.page.locator('.tool-card[data-status="done"]').count()).toBe(1);
    await rests(tab);
    // Thoughts are open while they come, and closed when the answer begins.
    await say(tab, "please think");
    await tab.page.getByRole("button", { name: "Thinking", expanded: true }).waitFor();
    await tab.page.locator(".reasoning-content").waitFor();
    pause.resolve();
    await sees(tab, "It needs water.");
    await tab.page.getByRole("button", { name: /^Thought/u, expanded: false }).click();
    await sees(tab, "A mill needs water.");
    await rests(tab);
    expect(await shownTexts(tab)).toEqual(await storedTexts(stage, thread));
    await tab.page.reload();
    await sees(tab, "It needs water.");
    expect(await shownTexts(tab)).toEqual(await storedTexts(stage, thread));
  });

  it("puts what each said on its side", async () => {
    tab = await stage.open();
    await begin(tab, "show marks");
    await sees(tab, "A heading");
    await rests(tab);
    const answer = tab.page.locator(".assistant-message > .md");
    const bubble = tab.page.locator(".user-bubble");
    const [left, right, column] = await Promise.all(
      [answer, bubble, tab.page.locator(".conversation-item").first()].map((part) => part.boundingBox()),
    );
    expect((right?.x ?? 0) - (left?.x ?? 0)).toBeGreaterThan((column?.width ?? 0) / 3);
    const background = "getComputedStyle(document.querySelector('.user-bubble')).backgroundColor";
    expect(await tab.page.evaluate(background)).toBe("rgb(227, 242, 253)");
    expect(await bubble.getAttribute("title")).toMatch(/20\d\d.*\d:\d\d/u);
  });

  it("follows what comes only where its end is in sight", async () => {
    tab = await stage.open({ height: 500 });
    await begin(tab, "tell a long story");
    await sees(tab, "Line 60");
    const scroller = tab.page.locator(".conversation");
    const fromEnd = (): Promise<number> =>
      scroller.evaluate((element) => element.scrollHeight - element.scrollTop - element.clientHeight);
    await expect.poll(fromEnd).toBeLessThan(100);
    await scroller.hover();
    await tab.page.mouse.wheel(0, -400);
    await tab.page.getByRole("button", { name: "Go to the end" }).waitFor();
    // The button comes before the wheel has done all of it.
    await expect.poll(fromEnd).toBeGreaterThanOrEqual(400);
    const place = await scroller.evaluate((element) => element.scrollTop);
    pause.resolve();
    await rests(tab);
    expect(await scroller.evaluate((element) => element.scrollTop)).toBe(place);
    await tab.page.getByRole("button", { name: "Go to the end" }).click();
    await sees(tab, "Line 120");
    await expect.poll(fromEnd).toBeLessThan(100);
  });

  it("keeps what was said when it is stopped, and goes on from there (STOP-17)", async () => {
    tab = await stage.open();
    const thread = await begin(tab, "tell a story");
    await sees(tab, story);
    await tab.page.getByRole("button", { name: "Stop" }).click();
    await tab.page.getByText("Interrupted by you").waitFor();
    await sees(tab, story);
    await rests(tab);
    pause.resolve();
    await tab.page.getByRole("button", { name: "Continue" }).click();
    await sees(tab, rest);
    await rests(tab);
    expect(await shownTexts(tab)).toEqual(await storedTexts(stage, thread));
  });

  it("stops by Escape, and a reload in the middle of a run shows each text once", async () => {
    tab = await stage.open();
    const thread = await begin(tab, "tell a story");
    await sees(tab, story);
    await tab.page.reload();
    await sees(tab, story);
    expect(await shownTexts(tab)).toEqual(["tell a story", story]);
    await tab.page.keyboard.press("Escape");
    await tab.page.getByText("Interrupted by you").waitFor();
    await rests(tab);
    expect(await shownTexts(tab)).toEqual(await storedTexts(stage, thread));
  });

  it("queues what is said while a run works; it can be taken out again", async () => {
    tab = await stage.open();
    const thread = await begin(tab, "tell a story");
    await sees(tab, story);
    await say(tab, "first");
    await say(tab, "second");
    const queue = tab.page.locator(".queue li");
    await expect.poll(() => queue.count()).toBe(2);
    // It is the server's, so it is there after a reload too.
    await tab.page.reload();
    await expect.poll(() => queue.allInnerTexts()).toEqual(["first", "second"]);
    await queue.nth(1).getByRole("button", { name: "Remove from the queue" }).click();
    await expect.poll(() => queue.allInnerTexts()).toEqual(["first"]);
    pause.resolve();
    await sees(tab, "You said: first");
    await rests(tab);
    expect(await shownTexts(tab)).toEqual(["tell a story", `${story} ${rest}`, "first", "You said: first"]);
    expect(await storedTexts(stage, thread)).toEqual(await shownTexts(tab));
  });

  it("says a message otherwise and again, and forks the chat", async () => {
    tab = await stage.open();
    const thread = await begin(tab, "hello");
    await sees(tab, "You said: hello");
    await rests(tab);
    // With an empty field the arrow opens the last own message.
    await editLast(tab);
    await tab.page.getByRole("textbox", { name: "Edit and run again" }).fill("good day");
    await tab.page.keyboard.press("Enter");
    await sees(tab, "You said: good day");
    await rests(tab);
    expect(await shownTexts(tab)).toEqual(["good day", "You said: good day"]);
    expect(await storedTexts(stage, thread)).toEqual(await shownTexts(tab));
    const begun = tab.page.waitForResponse((response) => response.url().endsWith("/rerun"));
    await tab.page.getByRole("article", { name: "Assistant" }).getByRole("button", { name: "Regenerate" }).click();
    // Until then the former answer stands there, which is the same.
    await begun;
    await rests(tab);
    await expect.poll(() => shownTexts(tab)).toEqual(["good day", "You said: good day"]);
    await tab.page.getByRole("article", { name: "Assistant" }).getByRole("button", { name: "Fork from here" }).click();
    await tab.page.waitForURL((url) => !url.pathname.endsWith(thread));
    await sees(tab, "You said: good day");
  });

  it("keeps a draft over a reload, and what is refused goes back into the field", async () => {
    tab = await stage.open();
    const thread = await begin(tab, "hello");
    await rests(tab);
    const field = tab.page.locator(".composer-field");
    await field.fill("half");
    await field.press("Shift+Enter");
    expect(await field.inputValue()).toBe("half\n");
    await field.fill("half a thought");
    await tab.page.reload();
    await expect.poll(() => field.inputValue()).toBe("half a thought");
    const refusal = { status: 429, json: { message: "Too many at once." } };
    await tab.page.route("**/commands", (route) => route.fulfill(refusal));
    await field.press("Enter");
    const problem = tab.page.locator(".toast-error").getByText("Too many at once.");
    await problem.waitFor();
    await tab.page.locator(".toast-error").getByRole("button", { name: "Close" }).click();
    await problem.waitFor({ state: "detached" });
    await expect.poll(() => field.inputValue()).toBe("half a thought");
    await tab.page.unroute("**/commands");
    await field.press("Enter");
    await sees(tab, "You said: half a thought");
    await rests(tab);
    expect(await storedTexts(stage, thread)).toEqual(await shownTexts(tab));
  });

  it("sends what got no answer again, also after a reload, and what had arrived is there once", async () => {
    tab = await stage.open();
    const thread = await begin(tab, "hello");
    await rests(tab);
    await tab.page.route("**/commands", (route) => route.abort());
    await say(tab, "lost on the way");
    const state = tab.page.locator(".message-bad").getByText("Not sent yet");
    await state.waitFor();
    await tab.page.reload();
    await state.waitFor();
    await tab.page.unroute("**/commands");
    await sees(tab, "You said: lost on the way");
    await rests(tab);
    await tab.page.route("**/commands", async (route) => {
      await route.fetch();
      await route.abort();
    });
    await say(tab, "its answer was lost");
    await sees(tab, "You said: its answer was lost");
    await tab.page.unroute("**/commands");
    await expect.poll(() => tab.page.evaluate("localStorage.length")).toBe(0);
    await rests(tab);
    expect(await storedTexts(stage, thread)).toEqual(await shownTexts(tab));
    expect((await shownTexts(tab)).filter((text) => text.includes("lost"))).toHaveLength(4);
  });

  it("shows the same in two tabs, and in the list of chats", async () => {
    tab = await stage.open();
    const thread = await begin(tab, "tell a story");
    await sees(tab, story);
    const other = await stage.open({ path: `/t/${thread}`, beside: tab });
    await sees(other, story);
    await other.page.getByRole("button", { name: "Stop" }).click();
    await tab.page.getByText("Interrupted by you").waitFor();
    await rests(tab);
    await other.page.getByText("Interrupted by you").waitFor();
    expect(await shownTexts(other)).toEqual(await shownTexts(tab));
    // What one renames is called so in the other.
    await other.page.locator(".title-name button").click();
    await other.page.getByRole("textbox", { name: "Name" }).fill("The mill");
    await other.page.keyboard.press("Enter");
    await tab.page.locator(".thread-row").getByText("The mill").waitFor();
    await tab.page.locator(".title-name").getByText("The mill").waitFor();
    expect(other.problems).toEqual([]);
  });
});
