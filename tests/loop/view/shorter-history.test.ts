import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import { builtInProfiles } from "@millrace/models/registry/profiles";
import { wireText, type ModelRequest, type ModelStep } from "@millrace/testing/model-server";
import { enabledToolkits } from "../../../src/toolkits/enabled-toolkits.ts";
import { defineToolkit } from "../../../src/toolkits/toolkit.ts";
import { startWorkflow, type TestWorkflow, type TestWorkflowOptions } from "../../support/workflow.ts";
import { strictProblems } from "../model-call/strict-provider.ts";

let running: TestWorkflow | undefined;
afterEach(async () => {
  await running?.close();
  running = undefined;
});

async function start(options: TestWorkflowOptions = {}): Promise<TestWorkflow> {
  running = await startWorkflow({ handler: () => ({ text: "Yes." }), ...options });
  return running;
}

const free = { mode: "free_work", tools: ["read_file"] };
/** Turns of so many characters in each message. */
const talk = (turns: number, length = 40): BaseMessage[] =>
  Array.from({ length: turns }, (_, turn) => [
    new HumanMessage({ id: `h${turn}`, content: `question ${turn} ${"word ".repeat(length / 5)}` }),
    new AIMessage({ id: `a${turn}`, content: `answer ${turn} ${"word ".repeat(length / 5)}` }),
  ]).flat();
const textsOf = (request: ModelRequest | undefined): string[] => (request?.messages ?? []).map(wireText);
const toolsOf = (request: ModelRequest | undefined): string[] =>
  (request?.body.tools ?? []).map((tool) => JSON.stringify(tool)).filter((tool) => tool.includes("read_history"));
const questionsIn = (request: ModelRequest | undefined): string[] =>
  textsOf(request).flatMap((text) => /^question (\d+)/u.exec(text)?.[1] ?? []);

describe("a session of many rounds (CTX-23)", () => {
  it("shows the last ones, says how it began and how it went on, and lets the rest be read", async () => {
    const flow = await start();
    await flow.update({ messages: talk(24) });
    await flow.send("and now", { ...free, tools: undefined, limits: { max_history_rounds: 20 } });
    const [request] = flow.model.requests;
    expect(questionsIn(request)).toEqual([
      "10",
      "11",
      "12",
      "13",
      "14",
      "15",
      "16",
      "17",
      "18",
      "19",
      "20",
      "21",
      "22",
      "23",
    ]);
    const [, note = "", ...others] = textsOf(request);
    expect(note).toContain("- user: question 0 ");
    expect(note).toContain("- assistant: answer 9 ");
    expect(others.at(-1)).toBe("and now");
    expect(toolsOf(request)).toHaveLength(1);
    expect(flow.events).toContainEqual({ type: "context_rounds", left_out: 20, max_rounds: 20 });
    expect((await flow.state()).messages).toHaveLength(50);
    expect(strictProblems(request?.messages ?? [])).toEqual([]);
  });

  it.each([
    [{ max_history_rounds: null }, 24],
    [{ max_history_rounds: 25 }, 24],
    [{ max_history_rounds: 4 }, 2],
  ])("shows as many as the run wants: %o", async (limits, shown) => {
    const flow = await start();
    await flow.update({ messages: talk(24) });
    await flow.send("and now", { ...free, limits });
    expect(questionsIn(flow.model.requests[0])).toHaveLength(shown);
    expect(flow.events.some(({ type }) => type === "context_rounds")).toBe(shown < 24);
  });

  it("are all summed up when the conversation is compressed", async () => {
    const flow = await start({ handler: ({ index }) => ({ text: index === 0 ? '{"goal": "talk"}' : "Yes." }) });
    await flow.update({ messages: talk(24) });
    await flow.send("and now", { ...free, compress: true });
    expect(questionsIn(flow.model.requests[0])).toContain("0");
  });
});

describe("a conversation of a profile whose history is cut early (COMP-16)", () => {
  const early = defineToolkit({
    name: "early",
    title: { en: "Early", zh: "提前" },
    description: { en: "Cuts early.", zh: "提前裁剪。" },
    enabled: "default",
    identity: { profile: "agentic", cutsHistoryEarly: true },
  });
  const document = { ...free, profile: "agentic" };
  const startEarly = async (options?: TestWorkflowOptions): Promise<TestWorkflow> => {
    const flow = await start(options);
    flow.services.toolkits = [early, ...enabledToolkits()];
    return flow;
  };
  const steps = ({ events }: TestWorkflow): unknown[] =>
    events.flatMap((event) => (event.type === "context_overflow" ? [[event.step, event.limit]] : []));
  const withResult = (length: number): BaseMessage[] => [
    new HumanMessage({ id: "h-read", content: "question 99" }),
    new AIMessage({ id: "c-read", content: "", tool_calls: [{ id: "call", name: "read_file", args: { path: "a" } }] }),
    new ToolMessage({ id: "t-read", tool_call_id: "call", name: "read_file", content: "x".repeat(length) }),
    new AIMessage({ id: "a-read", content: "read" }),
  ];

  it("above 30,000 tokens shows the last ten messages, and the rounds in which something was read", async () => {
    const flow = await startEarly();
    // 16 turns of 2,000 tokens, and a result at the beginning.
    await flow.update({ messages: [...withResult(4000), ...talk(16, 4000)] });
    await flow.send("and now", document);
    const [request] = flow.model.requests;
    expect(questionsIn(request)).toEqual(["99", "12", "13", "14", "15"]);
    expect(textsOf(request).filter((text) => text.startsWith("answer"))).toHaveLength(5);
    expect(textsOf(request).at(-1)).toBe("and now");
    expect(textsOf(request)[1]).toContain("assistant: answer 10 ");
    expect(steps(flow)).toEqual([["early", 30_000]]);
    expect(strictProblems(request?.messages ?? [])).toEqual([]);
  });

  it("is one about documents as the toolkits come", async () => {
    const flow = await start();
    await flow.update({ messages: talk(16, 4000) });
    await flow.send("and now", { ...free, profile: "document" });
    expect(steps(flow)).toEqual([["early", 30_000]]);
  });

  it("keeps a fifth of that for the answer: what was read long ago gives way", async () => {
    const flow = await startEarly();
    await flow.update({ messages: [...withResult(60_000), ...talk(16, 4000)] });
    await flow.send("and now", document);
    expect(questionsIn(flow.model.requests[0])).toEqual(["12", "13", "14", "15"]);
  });

  it("does so above ten times the longest answer of a model that writes little", async () => {
    const flow = await startEarly();
    flow.services.models = {
      profile: (model) => ({ ...builtInProfiles(model), max_tokens: 500 }),
      roles: () => ({ main: "openai:scripted" }),
    };
    await flow.update({ messages: talk(16, 1000) });
    await flow.send("and now", document);
    expect(steps(flow)).toEqual([["early", 5000]]);
    expect(questionsIn(flow.model.requests[0])).toEqual(["12", "13", "14", "15"]);
  });

  it("stays as it was decided while tools work, and is decided when they have made it long", async () => {
    const reads: ModelStep = { toolCalls: [{ name: "read_file", arguments: { path: "a.txt" } }] };
    const flow = await startEarly({
      files: { "a.txt": `${"word ".repeat(18)}\n`.repeat(50) },
      handler: ({ index }) => (index < 3 ? reads : { text: "Read." }),
    });
    await flow.update({ messages: talk(13, 4000) });
    const limits = { tool_result_max_length: 20_000, same_failure_limit: 9, stagnation_threshold: 9 };
    await flow.send("read a.txt", { ...document, limits });
    const shown = flow.model.requests.map((request) => questionsIn(request).length);
    expect(shown).toHaveLength(4);
    expect(shown[0]).toBe(13);
    expect(shown.at(-1)).toBe(4);
    expect(shown.filter((count) => count !== 13 && count !== 4)).toEqual([]);
    expect(steps(flow)).toEqual([["early", 30_000]]);
    for (const request of flow.model.requests) {
      expect(strictProblems(request.messages)).toEqual([]);
      expect(textsOf(request)).toContain("read a.txt");
    }
  });

  it.each([
    ["of another profile", { ...free, profile: "general" }, 4000],
    ["that is shorter", document, 3000],
  ])("is whole when it is one %s", async (_name, context, length) => {
    const flow = await startEarly();
    await flow.update({ messages: talk(16, length) });
    await flow.send("and now", context);
    expect(questionsIn(flow.model.requests[0])).toHaveLength(16);
    expect(steps(flow)).toEqual([]);
  });
});

describe("the shares of a window that a run names (CTX-16)", () => {
  const contextLimit = 20_000;
  const shares = { system: 0.1, history: 0.2, summary: 0, diagnostics: 0, implicit: 0, dependencies: 0, rag: 0 };
  const context = { ...free, context_shares: { ...shares, user_files: 0.1, web_search: 0.1 } };

  it("bind the history to its own and what others leave of theirs", async () => {
    const flow = await start({ contextLimit });
    await flow.update({ messages: talk(18, 1000) });
    await flow.send("and now", free);
    await flow.update({ messages: [] });
    await flow.send("and now", context);
    const [all, bound] = flow.model.requests;
    expect(questionsIn(all)).toHaveLength(18);
    // Half of what may be read, which is 70 % of the window, is for all together.
    const room = contextLimit * 0.7 * 0.5;
    const fixed = flow.events.flatMap((event) => (event.type === "context_usage" ? [event.tokens] : []));
    expect(fixed.at(-1)).toBeLessThanOrEqual(room);
    expect(fixed.at(-1)).toBeGreaterThan(room - 600);
    expect(questionsIn(bound).at(-1)).toBe("17");
  });

  it("let what the user refers to take from the history, and not the other way round (MSG-09)", async () => {
    const flow = await start({ contextLimit });
    await flow.update({ messages: talk(18, 1000) });
    const content = `${"text ".repeat(3200)}end`;
    await flow.send("and now", context);
    await flow.send("and now", { ...context, references: [{ type: "file", source: "a.txt", content }] });
    const [without, withIt] = flow.model.requests;
    expect(textsOf(withIt)[0]).toContain(content);
    expect(questionsIn(withIt).length).toBeLessThan(questionsIn(without).length);
    expect(textsOf(withIt)).toContain("and now");
  });

  it("bind the lines beside a summary, never its words", async () => {
    const flow = await start({ contextLimit });
    const earlier = Array.from({ length: 10 }, (_, line) => `user: line ${line} ${"word ".repeat(12)}`);
    const operations = ["created a.txt", "created b.txt"];
    await flow.update({
      messages: talk(2),
      conversation_summary: {
        goal: "A lamp",
        completed: [],
        todo: [],
        attempted_solutions: [],
        current_problem: "",
        key_decisions: [],
        through_message_id: "a0",
        shown: { level: "normal", kept_message_ids: [], last_message_id: "a1", earlier, operations },
      },
    });
    await flow.send("and now", free);
    await flow.send("and now", { ...free, context_shares: { summary: 0.01 } });
    await flow.send("and now", { ...free, context_shares: { summary: 0 } });
    const [all = "", some = "", none = ""] = flow.model.requests.map((request) => textsOf(request)[0] ?? "");
    expect(all).toContain("line 0");
    expect(some).not.toContain("line 0");
    expect(some).toContain("line 9");
    expect(none).not.toContain("line 9");
    expect(none).not.toContain("created a.txt");
    for (const text of [all, some, none]) expect(text).toContain("A lamp");
  });
});
