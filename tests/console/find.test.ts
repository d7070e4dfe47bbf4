import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import {
  axeFindings,
  chromiumPath,
  leave,
  openPalette,
  openStage,
  press,
  tabTo,
  type Stage,
  type Tab,
} from "./console-page.ts";

/** Lets the pause after a key last until `rest()`, however long that takes. */
const holdPauses = `(() => {
  const [begin, end] = [setTimeout, clearTimeout];
  const held = new Map();
  window.setTimeout = (run, pause, ...given) => {
    if (pause !== 300) return begin(run, pause, ...given);
    const id = begin(() => {}, 0);
    held.set(id, run);
    return id;
  };
  window.clearTimeout = (id) => (held.delete(id), end(id));
  window.rest = () => {
    const waiting = [...held.values()];
    held.clear();
    for (const run of waiting) run();
  };
})()`;

const Imported = z.object({ thread_id: z.string() });

describe.skipIf(chromiumPath === undefined)("what is looked for in the console", () => {
  let stage: Stage;
  let tab: Tab;
  /** A chat of 400 messages, of which the pages of the console show the last 50; the third and the last speak of a heron. */
  let long: string;
  beforeAll(async () => {
    stage = await openStage(() => ({ text: "ok" }));
    const textAt = (at: number) => (at === 2 || at === 399 ? `the heron of message ${at}` : `message ${at}`);
    const messages = Array.from({ length: 400 }, (_, at) => ({
      type: at % 2 === 0 ? "human" : "ai",
      id: `m${at}`,
      content: textAt(at),
    }));
    long = await bringIn("Birds", messages);
    const call = { id: "call-1", name: "read_file", args: { path: "ibis.md" } };
    await bringIn("Reading", [
      { type: "human", id: "h", content: "read it" },
      { type: "ai", id: "a", content: "", tool_calls: [call] },
      { type: "tool", id: "t", content: "the ibis of a file", tool_call_id: "call-1", name: "read_file" },
      { type: "ai", id: "b", content: "I have read it." },
    ]);
  });
  afterAll(() => stage.close());
  afterEach(() => leave(tab));

  async function bringIn(session_name: string, messages: object[]): Promise<string> {
    const exported = { format: "millrace.session", version: 1, session_name, graph_id: "agent", messages };
    const made = await stage.server.send("POST", "/threads/import", exported);
    return Imported.parse(await made.json()).thread_id;
  }

  const found = () => tab.page.locator(".conversation-item[data-found]");
  const isInSight = () =>
    found().evaluate((item) => {
      const { top, bottom } = item.getBoundingClientRect();
      const frame = item.closest(".conversation")?.getBoundingClientRect();
      return frame !== undefined && top < frame.bottom && bottom > frame.top;
    });

  it("opens a chat at the message of a hit, however far up it is, and the address leads there again", async () => {
    tab = await stage.open({ theme: "dark" });
    await tab.page.locator(".thread-link").first().waitFor();
    await tab.page.getByRole("searchbox", { name: "Search chats" }).focus();
    await tab.page.keyboard.type("heron of message 2");
    // What was found for the first words comes between slow keys.
    await tab.page.locator(".thread-words mark").filter({ hasText: "heron of message 2" }).waitFor();
    expect(await axeFindings(tab)).toEqual([]);
    await press(tab, "Enter");
    await found().getByText("the heron of message 2").waitFor();
    await expect.poll(isInSight).toBe(true);
    // One goes on from the message, also without a mouse.
    await expect.poll(() => found().evaluate((item) => item === item.ownerDocument.activeElement)).toBe(true);
    const address = new URL(tab.page.url());
    expect([address.pathname, address.hash]).toEqual([`/console/t/${long}`, "#m2"]);
    await tab.page.reload();
    await found().getByText("the heron of message 2").waitFor();
    await expect.poll(isInSight).toBe(true);
    expect(await axeFindings(tab)).toEqual([]);
  });

  it("opens a chat at the call whose result holds what was looked for, also from the palette", async () => {
    tab = await stage.open();
    await tab.page.locator(".thread-link").first().waitFor();
    await openPalette(tab);
    await tab.page.keyboard.type("ibis of a");
    await tab.page.getByRole("option", { name: /Reading/u }).waitFor();
    await press(tab, "Enter");
    await found().locator(".tool-card").waitFor();
    expect(new URL(tab.page.url()).hash).toBe("#t");
  });

  it("says that a message is gone", async () => {
    tab = await stage.open({ path: `/t/${long}#nothing-like-this` });
    await tab.page.locator(".toast").getByText("This message is no longer in the chat").waitFor();
    expect(await found().count()).toBe(0);
  });

  it("sends one request after a pause in typing, and none for what was typed before", async () => {
    tab = await stage.open();
    await tab.page.locator(".thread-link").first().waitFor();
    const asked: unknown[] = [];
    const ended: unknown[] = [];
    const { resolve: release, promise: gone } = Promise.withResolvers<void>();
    await tab.page.route("**/threads/info/search", async (route) => {
      const { query } = z.looseObject({ query: z.string().optional() }).parse(route.request().postDataJSON());
      if (query === undefined) return await route.continue();
      asked.push(query);
      if (query === "her") await gone;
      return await route.continue().catch(() => undefined);
    });
    tab.page.on("requestfailed", (request) => ended.push(request.postDataJSON()));
    await tab.page.evaluate(holdPauses);
    await tab.page.getByRole("searchbox", { name: "Search chats" }).focus();
    await tab.page.keyboard.type("her");
    await tab.page.evaluate("rest()");
    await expect.poll(() => asked).toEqual(["her"]);
    await tab.page.keyboard.type("on");
    await tab.page.evaluate("rest()");
    await expect.poll(() => asked).toEqual(["her", "heron"]);
    await expect.poll(() => ended).toMatchObject([{ query: "her" }]);
    release();
    await tab.page.locator(".thread-words mark").waitFor();
  });

  it("finds within a chat by the key, over all of its messages, and goes from one to the next", async () => {
    tab = await stage.open({ path: `/t/${long}` });
    await tab.page.locator(".conversation-item").last().getByText("message 399").waitFor();
    await press(tab, "Control+f");
    await tab.page.keyboard.type("HERON");
    await tab.page.getByRole("status").getByText("2 of 2").waitFor();
    await found().getByText("the heron of message 399").waitFor();
    const marked = () =>
      tab.page.evaluate("[...(CSS.highlights.get('found') ?? [])].map((range) => range.toString()).join()");
    await expect.poll(marked).toBe("heron");
    await press(tab, "Enter");
    await tab.page.getByRole("status").getByText("1 of 2").waitFor();
    await found().getByText("the heron of message 2").waitFor();
    await expect.poll(isInSight).toBe(true);
    expect(await axeFindings(tab)).toEqual([]);
    // After the oldest the newest comes again.
    await press(tab, "Enter");
    await tab.page.getByRole("status").getByText("2 of 2").waitFor();
    await tabTo(tab, "Earlier match");
    await press(tab, "Enter");
    await tab.page.getByRole("status").getByText("1 of 2").waitFor();
    // From elsewhere the key leads back into the field, where it is the browser's.
    await press(tab, "Control+f");
    await tab.page.locator(".search-field input:focus").waitFor();
    await tab.page.keyboard.insertText(" of nothing");
    await tab.page.getByText("Nothing found for").waitFor();
    await press(tab, "Escape");
    await tab.page.getByRole("search").waitFor({ state: "detached" });
    expect(await marked()).toBe("");
  });

  it("goes as far as was asked for before anything was found", async () => {
    tab = await stage.open({ path: `/t/${long}` });
    await tab.page.locator(".conversation-item").last().getByText("message 399").waitFor();
    await press(tab, "Control+f");
    const answered = Promise.withResolvers<void>();
    await tab.page.route("**/search?*", async (route) => {
      await answered.promise;
      await route.continue();
    });
    await tab.page.evaluate(holdPauses);
    await tab.page.keyboard.type("heron");
    // Once before it is looked for, twice while it is.
    await press(tab, "Enter");
    const asked = tab.page.waitForRequest("**/search?*");
    await tab.page.evaluate("rest()");
    await asked;
    await press(tab, "Enter", "Enter");
    answered.resolve();
    await expect.poll(() => tab.page.getByRole("status").allTextContents()).toContain("1 of 2");
    await found().getByText("the heron of message 2").waitFor();
  });

  it("lists the chats of a state, a graph or the archive, as the address says", async () => {
    const kept = await bringIn("In the archive", [{ type: "human", id: "k", content: "kept" }]);
    await stage.server.send("PATCH", `/threads/${kept}/info`, { archived: true });
    tab = await stage.open();
    const names = () => tab.page.locator(".thread-link .thread-name").allTextContents();
    await expect.poll(names).toEqual(["Reading", "Birds"]);
    await tab.page.getByRole("button", { name: "Filters" }).click();
    await tab.page.getByLabel("Archived", { exact: true }).selectOption("only");
    await expect.poll(names).toEqual(["In the archive"]);
    await tab.page.getByLabel("Status", { exact: true }).selectOption("error");
    await tab.page.getByText("No chats match these filters").waitFor();
    expect(await axeFindings(tab)).toEqual([]);
    await tab.page.reload();
    await tab.page.getByText("No chats match these filters").waitFor();
    expect(new URL(tab.page.url()).search).toBe("?chat-archived=only&chat-state=error");
    await tab.page.getByLabel("Status", { exact: true }).selectOption("idle");
    await tab.page.getByLabel("Graph", { exact: true }).selectOption("agent");
    await expect.poll(names).toEqual(["In the archive"]);
    // The filter stays while one goes from chat to chat of the list.
    await tab.page.locator(".thread-link").click();
    await tab.page.locator(".conversation").getByText("kept").waitFor();
    expect(await names()).toEqual(["In the archive"]);
    await tab.page.getByRole("button", { name: "Clear filters" }).click();
    await expect.poll(names).toEqual(["Reading", "Birds"]);
    expect(new URL(tab.page.url()).search).toBe("");
  });
});
