import { AIMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import type { Collector } from "../../src/context/collector.ts";
import { countText } from "../../src/context/tokens/tokens.ts";
import { wireText } from "@millrace/testing/model-server";
import { startWorkflow, type TestWorkflow } from "../support/workflow.ts";
import { compress } from "../../src/prompts/templates/compress.ts";
import { hasPrompt } from "../support/system-text.ts";

let app: TestWorkflow;
afterEach(() => app.close());

const systemOf = (index: number): string => wireText(app.model.requests[index]?.messages[0] ?? { role: "none" });

describe("what the user's editor shows and refers to", () => {
  it("stands in the system text of the request that brings it, after the facts, and of no other", async () => {
    app = await startWorkflow({ script: [{ text: "It is about ships." }, { text: "Hello." }] });
    const references = [{ type: "file", source: "ships.md", content: "Three ships." }];
    const document = { path: "story.md", selected_text: "the harbour", unsaved_changes: true };
    await app.send("what is it about", { mode: "free_work", document, references });
    await app.send("hello", { mode: "free_work" });
    const [with_, without] = [systemOf(0), systemOf(1)];
    expect(with_).toContain("Current document: story.md");
    expect(with_).toContain("the harbour");
    expect(with_).toContain("Reference 1: file (source: ships.md)");
    expect(with_.indexOf("story.md")).toBeLessThan(with_.indexOf("ships.md"));
    expect(with_.startsWith(without)).toBe(true);
  });

  it("is never shortened: the conversation before it is left out first (MSG-09)", async () => {
    app = await startWorkflow({ contextLimit: 8000, handler: () => ({ text: "Yes." }) });
    const turns = Array.from({ length: 18 }, (_, turn) => [
      new HumanMessage({ id: `h${turn}`, content: `${turn} ${"word ".repeat(100)}` }),
      new AIMessage({ id: `a${turn}`, content: "word ".repeat(80) }),
    ]);
    await app.update({ messages: turns.flat() });
    const content = Array.from({ length: 600 }, (_, line) => `line ${line}`).join("\n");
    await app.send("look", { mode: "free_work", references: [{ type: "file", source: "a.txt", content }] });
    const [request] = app.model.requests;
    expect(systemOf(0)).toContain(content);
    expect(request?.messages.length).toBeLessThan(40);
    expect(wireText(request?.messages.at(-1) ?? { role: "none" })).toBe("look");
  });

  it.each([
    [{ references: [{ type: "file", source: "a", content: 5 }] }, "content"],
    [{ references: Array.from({ length: 51 }, () => ({ type: "text", source: "", content: "" })) }, "references"],
    [{ document: { selected_text: "x".repeat(100_001) } }, "selected_text"],
  ])("is refused when it is not what is expected: %o", async (context, named) => {
    app = await startWorkflow();
    await expect(app.send("hello", { mode: "free_work", ...context })).rejects.toThrow(named);
    expect(app.model.requests).toEqual([]);
  });
});

describe("what sources of the server find", () => {
  const wishes = (more: Partial<Collector> = {}): Collector => ({
    name: "wishes",
    title: "Wishes",
    priority: 30,
    reserved: 50,
    collect: async () => "The customer wants it small.",
    ...more,
  });

  it("stands in the system text", async () => {
    app = await startWorkflow({ script: [{ text: "Yes." }] });
    app.services.collectors = [wishes()];
    await app.send("look", { mode: "free_work" });
    expect(systemOf(0)).toContain("## Wishes\n\nThe customer wants it small.");
  });

  it("takes the shares of what is found, and the history's as well after an error (CTX-16)", async () => {
    app = await startWorkflow({ handler: () => ({ text: "Yes." }), contextLimit: 40_000 });
    app.services.collectors = [wishes({ collect: async () => "small enough\n".repeat(20_000) })];
    const tokens = (index: number): number => {
      const text = systemOf(index);
      return countText(text.slice(text.indexOf("## Wishes"), text.lastIndexOf("small enough")));
    };
    await app.send("look", { mode: "free_work" });
    await app.update({ error_context: "no space" });
    await app.send("look", { mode: "free_work" });
    // Of 70 % of the window half, and a fifth more.
    for (const [index, most] of [14_000, 19_600].entries()) {
      expect(tokens(index)).toBeLessThanOrEqual(most);
      expect(tokens(index)).toBeGreaterThan(most - 200);
    }
  });

  it("is not asked for where it does not apply", async () => {
    app = await startWorkflow({ handler: () => ({ text: "Yes." }) });
    let asked = 0;
    const collect = async () => {
      asked += 1;
      return null;
    };
    app.services.collectors = [wishes({ collect, appliesTo: ({ error }) => error !== null })];
    await app.send("look", { mode: "free_work" });
    expect(asked).toBe(0);
    await app.update({ error_context: "no space" });
    await app.send("look", { mode: "free_work" });
    expect(asked).toBe(1);
  });
});

describe("system texts in the conversation", () => {
  it("stand in the one system message, each once, through a compression too (COMP-03, COMP-12, CTX-20)", async () => {
    app = await startWorkflow({
      handler: ({ messages }) => ({
        text: hasPrompt(wireText(messages[0] ?? { role: "none" }), compress) ? '{"goal": "talk"}' : "Yes.",
      }),
    });
    const brief = (id: string) => new SystemMessage({ id, content: "Answer in verse." });
    const turns = Array.from({ length: 8 }, (_, turn) => [
      new HumanMessage({ id: `h${turn}`, content: `question ${turn}` }),
      new AIMessage({ id: `a${turn}`, content: "word" }),
    ]);
    await app.update({ messages: [brief("s1"), ...turns.flat(), brief("s2")] });
    await app.send("and now", { mode: "free_work" });
    await app.send("and then", { mode: "free_work", compress: true });
    const [first, summariser, last] = app.model.requests.map(({ messages }) => messages);
    for (const sent of [first, last]) {
      expect(sent?.map(({ role }) => role).lastIndexOf("system")).toBe(0);
      expect(wireText(sent?.[0] ?? { role: "none" }).split("Answer in verse.")).toHaveLength(2);
    }
    expect(wireText(summariser?.[0] ?? { role: "none" })).not.toContain("Answer in verse.");
    expect(last?.map(wireText).join("\n")).not.toContain("question 0");
    expect(app.events.filter(({ type }) => type === "context_check")).toEqual([]);
    // The conversation itself keeps them where they were.
    expect((await app.state()).messages.filter(({ type }) => type === "system")).toHaveLength(2);
  });

  it("stand there up to a share of the window: the first, those of the newest request, and how many are left out", async () => {
    app = await startWorkflow({ handler: () => ({ text: "Yes." }), contextLimit: 40_000 });
    const clock = (turn: number) => `It is turn ${turn} by the clock. ${"tick ".repeat(200)}`.trim();
    const turns = Array.from({ length: 100 }, (_, turn) => [
      new SystemMessage({ id: `t${turn}`, content: clock(turn) }),
      new HumanMessage({ id: `h${turn}`, content: `question ${turn}` }),
      new AIMessage({ id: `a${turn}`, content: "word" }),
    ]);
    const brief = (id: string) => new SystemMessage({ id, content: "Answer in verse." });
    await app.update({ messages: [brief("s1"), ...turns.flat()] });
    await app.send("and now", { mode: "free_work" });
    const text = systemOf(0);
    expect(text).toContain("Answer in verse.");
    expect(text).toContain(clock(0));
    expect(text).toContain(clock(99));
    expect(text).toContain(clock(90));
    expect(text).not.toContain(clock(50));
    const shown = text.split("by the clock").length - 1;
    expect(text).toContain(`there were too many: ${100 - shown}`);
    // 15 % of the window, at four characters for a token.
    expect(shown * clock(0).length).toBeLessThan(40_000 * 0.15 * 4 + clock(0).length);

    // Those that come with one request are never cut.
    const long = ["first", "second"].map((name) => new SystemMessage(`${name} rule: ${"obey ".repeat(4000)}`));
    await app.update({ messages: long });
    await app.send("and then", { mode: "free_work" });
    const later = systemOf(app.model.requests.length - 1);
    for (const kept of ["first rule", "second rule", "Answer in verse.", "there were too many: 99"]) {
      expect(later).toContain(kept);
    }
  });
});
