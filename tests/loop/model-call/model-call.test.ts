import { isAIMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import { createLogger } from "@millrace/engine/logger";
import { costOf, reachedBudget } from "../../../src/loop/limits/limits.ts";
import { LoopLimits } from "../../../src/state.ts";
import type { ModelStep } from "@millrace/testing/model-server";
import { startWorkflow, type TestWorkflow, type TestWorkflowOptions } from "../../support/workflow.ts";

let running: TestWorkflow | undefined;
afterEach(async () => {
  await running?.close();
  running = undefined;
});

async function start(options: TestWorkflowOptions): Promise<TestWorkflow> {
  running = await startWorkflow(options);
  return running;
}

const free = { mode: "free_work" };
const usage = { input: 200, output: 50 };
const broken: ModelStep = { fault: { kind: "status", status: 503, message: "busy" } };

describe("a model call that could not be made", () => {
  it("is retried as often as the run allows, with an event for each retry", async () => {
    const flow = await start({ script: [broken, { text: "Hello." }] });
    const { messages } = await flow.send("Hello", { ...free, limits: { agentic_connection_retries: 1 } });
    expect(messages.at(-1)?.text).toBe("Hello.");
    expect(flow.events.filter(({ type }) => type === "retry")).toEqual([
      expect.objectContaining({ what: "model", attempt: 1 }),
    ]);
  });

  it("is not retried if the run forbids it, and ends with an error event", async () => {
    const flow = await start({ script: [broken] });
    await expect(flow.send("Hello", { ...free, limits: { agentic_connection_retries: 0 } })).rejects.toMatchObject({
      code: "server",
    });
    expect(flow.model.requestCount).toBe(1);
    expect(flow.events).toContainEqual(expect.objectContaining({ type: "agentic_loop.error", error_type: "server" }));
  });
});

describe("what a model call has used", () => {
  it("is logged where the provider's cache has saved some of it (TOKEN-09)", async () => {
    const flow = await start({
      script: [
        { text: "One.", usage },
        { text: "Two.", usage: { ...usage, cached: 150 } },
      ],
    });
    const lines: unknown[] = [];
    flow.services.logger = createLogger("info", { write: (line: string) => void lines.push(JSON.parse(line)) });
    await flow.send("Hello", free);
    await flow.send("Hello again", free);
    expect(lines.filter((line) => JSON.stringify(line).includes("prompt_cache_hit"))).toEqual([
      expect.objectContaining({ session_id: "session-1", run_id: "run-1", cached_tokens: 150, hit_ratio: 0.75 }),
    ]);
  });

  it("is emitted as events with the loop's state, and stored on the message", async () => {
    const price = { input: 1, output: 2 };
    const script: ModelStep[] = [
      { toolCalls: [{ name: "list_files", arguments: {} }], usage },
      { text: "Nothing is there.", usage },
    ];
    const flow = await start({ script });
    const { messages } = await flow.send("Look around", { ...free, limits: { price } });
    expect(flow.events.filter(({ type }) => type === "agentic_loop.iteration")).toMatchObject([
      { iteration: 1, max_iterations: 60, tool_calls_count: 1, total_tokens: 250 },
      { iteration: 2, max_iterations: 60, tool_calls_count: 0, total_tokens: 500 },
    ]);
    const tokens = { input_tokens: 200, output_tokens: 50, total_tokens: 250, cached_tokens: 0 };
    expect(flow.events.filter(({ type }) => type === "token_usage")).toEqual(
      Array.from({ length: 2 }, () => ({ type: "token_usage", ...tokens })),
    );
    const windows = flow.events.filter((event) => event.type === "window_length");
    expect(windows.map(({ conversation_round }) => conversation_round)).toEqual([1, 3]);
    expect(windows.every((event) => event.tokens_used === event.pruned_tokens_used)).toBe(true);
    expect(
      messages.filter(isAIMessage).map(({ additional_kwargs }) => additional_kwargs["llm_metadata"]),
    ).toMatchObject([
      {
        model_name: "openai:scripted",
        input_tokens: 200,
        input_cost: 0.0002,
        output_cost: 0.0001,
        conversation_round: 1,
      },
      { conversation_round: 3 },
    ]);
  });

  it("reports the tokens of the conversation and of the model's view separately", async () => {
    const flow = await start({ contextLimit: 9000, handler: () => ({ text: "word ".repeat(2500) }) });
    for (const text of ["one", "two", "three", "four"]) await flow.send(text, { ...free, compress: false });
    const last = flow.events.findLast((event) => event.type === "window_length");
    expect(last?.tokens_used).toBeGreaterThan(last?.pruned_tokens_used ?? Infinity);
  });
});

describe("a budget", () => {
  const price = { input: 1_000_000, output: 1_000_000 };
  it.each([
    [{}, { total_tokens_used: 1e9, total_cost: 1e9, next: 1e9 }, null],
    [{ max_tokens: 1000 }, { total_tokens_used: 0, total_cost: 0, next: 100 }, null],
    [
      { max_tokens: 1000 },
      { total_tokens_used: 800, total_cost: 0, next: 100 },
      { reason: "token_limit", stage: "last" },
    ],
    [
      { max_tokens: 1000 },
      { total_tokens_used: 1000, total_cost: 0, next: 1 },
      { reason: "token_limit", stage: "spent" },
    ],
    [{ max_cost: 1000 }, { total_tokens_used: 0, total_cost: 2000, next: 1 }, null],
    [
      { max_cost: 1000, price },
      { total_tokens_used: 0, total_cost: 800, next: 100 },
      { reason: "cost_limit", stage: "last" },
    ],
    [
      { max_cost: 1000, price },
      { total_tokens_used: 0, total_cost: 1000, next: 1 },
      { reason: "cost_limit", stage: "spent" },
    ],
  ])("of %j says of %j: %j", (limits, spent, expected) => {
    expect(reachedBudget(spent, LoopLimits.parse(limits))).toEqual(expected);
  });

  it("counts money by the million of tokens", () => {
    expect(costOf({ input: 500_000, output: 100_000 }, { input: 2, output: 10 })).toBe(2);
  });
});
