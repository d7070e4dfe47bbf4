import { isToolMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import type { TestWorkflow, TestWorkflowOptions } from "../support/workflow.ts";
import { agentFiles, askedBy, hands, scriptsOf, startWithAgents } from "./agent-flow.ts";
import { mayCall, wireText } from "@millrace/testing/model-server";

let running: TestWorkflow | undefined;
afterEach(async () => {
  await running?.close();
  running = undefined;
});

async function start(options: TestWorkflowOptions): Promise<TestWorkflow> {
  running = await startWithAgents(options);
  return running;
}

const free = { mode: "free_work" };
const reads = (path: string) => ({ toolCalls: [{ name: "read_file", arguments: { path }, id: `read-${path}` }] });

describe("the limits of an agent", () => {
  it("has a time of its own: one whose time is up ends with what it knows, and the caller goes on", async () => {
    const flow = await start({
      files: { ...agentFiles({ slow: {}, quick: {} }), "a.txt": "a" },
      handler: scriptsOf({
        caller: [
          hands("parallel", { slow: "Read all", quick: "Say hello" }, { timeout_seconds: 0.0005 }),
          reads("a.txt"),
          { text: "Done." },
        ],
        slow: [reads("a.txt"), { text: "I got as far as a.txt." }],
        quick: [{ text: "Hello." }],
      }),
    });
    const { messages } = await flow.send("Work", free);
    expect(messages.find(isToolMessage)?.additional_kwargs["subagents"]).toEqual([
      expect.objectContaining({ name: "slow", success: false, end_reason: "timeout" }),
      expect.objectContaining({ name: "quick", success: true, end_reason: "answered" }),
    ]);
    expect(messages.find(isToolMessage)?.text).toContain("I got as far as a.txt.");
    // The caller's system text lists who there is, with a call of each kind (AGENT-03).
    expect(wireText(flow.model.requests[0]?.messages[0] ?? { role: "none" })).toMatch(
      /- quick: Does the work of quick \(tools: all\)\n- slow: .*- parallel: run_named_subagents .*- serial: run_named_subagents /su,
    );
    expect(messages.at(-1)?.text).toBe("Done.");
  });

  it("are as many rounds as the run allows, and its report says that they are used up", async () => {
    const flow = await start({
      files: agentFiles({ busy: {} }),
      handler: (request) => {
        if (askedBy(request) === "caller") {
          return request.messages.length > 3 ? { text: "Done." } : hands("parallel", { busy: "Go" });
        }
        return !mayCall(request) ? { text: "I must stop." } : reads(`file-${request.messages.length}.txt`);
      },
    });
    const { messages } = await flow.send("Work", { ...free, limits: { max_iterations: 3 } });
    expect(messages.find(isToolMessage)?.text).toMatch(/0 of 1.*busy \(iteration_limit, 3 iterations/su);
    expect(messages.find(isToolMessage)).toMatchObject({ status: "error" });
    expect(messages.at(-1)?.text).toBe("Done.");
  });

  it("lets eight agents work one after the other in each of many rounds", async () => {
    const names = Array.from({ length: 8 }, () => "busy");
    const flow = await start({
      files: agentFiles({ busy: {} }),
      handler: (request) => {
        if (askedBy(request) === "busy") return { text: "Done." };
        const round = request.messages.length;
        const subagents = names.map((name, index) => ({ name, task: `part ${index} of round ${round}` }));
        return !mayCall(request)
          ? { text: "All rounds are used up." }
          : { toolCalls: [{ name: "run_named_subagents", arguments: { mode: "serial", subagents } }] };
      },
    });
    const { messages } = await flow.send("Work", { ...free, limits: { max_iterations: 4 } });
    expect(messages.filter(isToolMessage)).toHaveLength(3);
    expect(messages.at(-1)?.text).toBe("All rounds are used up.");
    expect(flow.model.requests).toHaveLength(3 * 8 + 4);
  });
});

describe("a guarded turn", () => {
  it("asks about every tool of its agents: the call that sent them was its first", async () => {
    const flow = await start({
      files: { ...agentFiles({ one: {}, two: {} }), "a.txt": "a" },
      handler: scriptsOf({
        caller: [hands("parallel", { one: "Go", two: "Go" }), { text: "Done." }],
        one: [reads("a.txt"), { text: "Read." }],
        two: [reads("a.txt"), { text: "Not read." }],
      }),
    });
    await flow.send("Work", { ...free, tool_policy: "guarded" });
    const asked = await flow.interrupts();
    expect(asked.map(({ value }) => value)).toEqual([
      expect.objectContaining({ kind: "chain_confirm", tool: "read_file" }),
      expect.objectContaining({ kind: "chain_confirm", tool: "read_file" }),
    ]);
  });
});

describe("the model of an agent", () => {
  it("is its own where its file names one, and the caller's else", async () => {
    const flow = await start({
      files: agentFiles({ own: { model: "openai:small" }, same: {} }),
      handler: scriptsOf({
        caller: [hands("serial", { own: "Go", same: "Go" }), { text: "Done." }],
        own: [{ text: "1" }],
        same: [{ text: "2" }],
      }),
    });
    const { messages } = await flow.send("Work", { ...free, limits: { price: { input: 1000, output: 0 } } });
    expect(flow.model.requests.map((request) => [askedBy(request), request.body.model])).toEqual([
      ["caller", "scripted"],
      ["own", "small"],
      ["same", "scripted"],
      ["caller", "scripted"],
    ]);
    // The run's price is that of the run's model.
    expect(messages.find(isToolMessage)?.additional_kwargs["subagents"]).toEqual([
      expect.objectContaining({ name: "own", cost: null }),
      expect.objectContaining({ name: "same", cost: expect.any(Number) }),
    ]);
  });
});

describe("the token budget of a turn", () => {
  it("is not given whole to each of several agents that work one after the other", async () => {
    const used = { input: 30_000, output: 0 };
    const flow = await start({
      files: agentFiles({ one: {}, two: {}, three: {} }),
      handler: scriptsOf({
        caller: [hands("serial", { one: "Go", two: "Go", three: "Go" }), { text: "Done." }],
        one: [{ text: "1", usage: used }],
        two: [{ text: "2", usage: used }],
        three: [{ text: "3", usage: used }],
      }),
    });
    const { messages } = await flow.send("Work", { ...free, limits: { max_tokens: 50_000 } });
    expect(flow.model.requests.map(askedBy)).toEqual(["caller", "one", "two"]);
    expect(messages.find(isToolMessage)?.additional_kwargs["subagents"]).toEqual([
      expect.objectContaining({ name: "one", end_reason: "answered" }),
      expect.objectContaining({ name: "two", tokens: 30_000 }),
      expect.objectContaining({ name: "three", tokens: 0, end_reason: "token_limit" }),
    ]);
    expect(messages.at(-1)?.additional_kwargs["end_reason"]).toBe("token_limit");
  });
});
