import { afterEach, describe, expect, it } from "vitest";
import type { CustomEvent } from "../../src/events.ts";
import { wireText, type ModelRequest, type ModelStep } from "@millrace/testing/model-server";
import { startWorkflow, type TestWorkflow, type TestWorkflowOptions } from "../support/workflow.ts";
import { clarify } from "../../src/prompts/templates/clarify.ts";
import { hasPrompt } from "../support/system-text.ts";

let running: TestWorkflow | undefined;
afterEach(async () => {
  await running?.close();
  running = undefined;
});

async function start(options: TestWorkflowOptions): Promise<TestWorkflow> {
  running = await startWorkflow(options);
  return running;
}

/** The states that a turn went through, as sent; each move begins where the last one ended. */
function walked(events: CustomEvent[]): string[] {
  const moves = events.filter((event) => event.type === "orchestration_changed");
  for (const [index, move] of moves.entries()) {
    if (index > 0) expect(move.from_state).toBe(moves[index - 1]?.to_state);
  }
  return moves.map(({ to_state }) => to_state);
}

const called: ModelStep = { toolCalls: [{ name: "list_files", arguments: {} }] };

describe("the orchestration of a turn (STATE-03)", () => {
  it("goes by the tools and back to a decision, and ends with the reply", async () => {
    const flow = await start({ files: { a: "1" }, script: [called, called, { text: "One file." }] });
    const state = await flow.send("list the files");
    const round = ["tool_call", "tool_result", "decide"];
    expect(walked(flow.events)).toEqual(["plan", ...round, ...round, "respond"]);
    expect(state.orchestration).toMatchObject({ state: "respond", last_tool: "list_files" });
  });

  it("begins each turn anew, and answers without tools straight from its plan", async () => {
    const flow = await start({ script: [{ text: "Welcome." }, { text: "Bye." }] });
    await flow.send("thanks");
    await flow.send("bye");
    expect(walked(flow.events)).toEqual(["plan", "respond", "idle", "plan", "respond"]);
  });

  it("asks, and takes the same turn up again with the answer", async () => {
    const guess = { guess: "A report.", questions: ["On what?"], suggestions: [] };
    const flow = await start({
      handler: (request) => ({ text: isClarify(request) ? JSON.stringify(guess) : "Here." }),
    });
    await flow.send("write a report");
    expect(walked(flow.events)).toEqual(["plan", "decide"]);
    await flow.answer("mills");
    expect(walked(flow.events)).toEqual(["plan", "decide", "plan", "respond"]);
  });

  it("goes on after a call that a person has approved", async () => {
    const flow = await start({
      files: { "old/a": "1" },
      script: [{ toolCalls: [{ name: "delete_file", arguments: { path: "old" } }] }, { text: "The folder is gone." }],
    });
    await flow.send("clean up");
    expect(walked(flow.events)).toEqual(["plan", "tool_call"]);
    await flow.answer({ type: "approve" });
    expect(walked(flow.events)).toEqual(["plan", "tool_call", "tool_result", "decide", "respond"]);
  });
});

describe("the modes of a session", () => {
  it("change with a run, keep the history, and tell it once (STATE-12)", async () => {
    const flow = await start({ script: [{ text: "Hi." }, { text: "Hi." }, { text: "Hi." }] });
    await flow.send("hello");
    await flow.send("hello", { work_mode: "workflow" });
    const state = await flow.send("hello");
    expect(state.work_mode).toBe("workflow");
    expect(state.messages).toHaveLength(6);
    expect(flow.events.filter(({ type }) => type === "work_mode_changed")).toEqual([
      { type: "work_mode_changed", from_mode: "free_chat", to_mode: "workflow" },
    ]);
  });
});

describe("the model of a session (LLM-19)", () => {
  it("may be another in each run, and its change is sent once", async () => {
    const flow = await start({ script: Array.from({ length: 4 }, () => ({ text: "Hi." })) });
    await flow.send("hello", { model: "openai:one" });
    await flow.send("hello", { model: "openai:one" });
    await flow.send("hello", { model: "openai:two" });
    await flow.send("hello", { model: "openai:two" });
    expect(flow.model.requests.map(({ body }) => body.model)).toEqual(["one", "one", "two", "two"]);
    expect(flow.events.filter(({ type }) => type === "model_changed")).toEqual([
      { type: "model_changed", from_model: "openai:one", to_model: "openai:two" },
    ]);
  });
});

describe("several intents in one message (DECOMP-06)", () => {
  it("go to the model together, with the tools", async () => {
    const flow = await start({ files: { "notes.md": "x" }, script: [called, { text: "All three are done." }] });
    const state = await flow.send("read notes.md and then delete draft.md, finally list the files");
    expect([state.route, state.wanted?.kind, state.task_plan]).toEqual(["free_work", "multi_intent", null]);
    expect(flow.model.requests).toHaveLength(2);
    const systemTexts = flow.model.requests.map(({ messages }) => JSON.stringify(messages[0]));
    for (const text of systemTexts) expect(text).toContain("Carry out the requests of a message in order.");
  });

  it("are dropped when the user changes their mind (CLAR-03)", async () => {
    const flow = await start({ script: [{ text: "All right." }] });
    const step = {
      id: "1",
      goal: "g",
      tool: null,
      input: "",
      depends_on: [],
      status: "pending" as const,
      result: null,
    };
    await flow.update({ task_plan: { goal: "g", steps: [step], status: "active" } });
    const state = await flow.send("never mind");
    expect(state.task_plan).toBeNull();
    expect(flow.model.requests[0]?.toolNames).toEqual([]);
  });
});

describe("a question", () => {
  it.each([
    "Why are tests failing?",
    "explain what AuthService does",
    "What is Acme's refund policy?",
    "为什么测试失败",
  ])("reaches the model with the tools: %s", async (question) => {
    const flow = await start({ script: [{ text: "I would have to look." }] });
    await flow.send(question);
    expect(flow.model.requests[0]?.toolNames).toEqual(expect.arrayContaining(["read_file", "search_content"]));
  });
});

function isClarify(request: ModelRequest): boolean {
  return request.messages.some((message) => hasPrompt(wireText(message), clarify));
}
