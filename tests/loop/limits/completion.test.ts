import { isToolMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import type { PastCall, Turn } from "../../../src/guardrails/turn.ts";
import { completionProblem } from "../../../src/loop/limits/completion.ts";
import { success } from "../../../src/tools/runtime/result.ts";
import { defineTool } from "../../../src/tools/runtime/tool.ts";
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
const completes = (result: string, more: Record<string, unknown> = {}): ModelStep => ({
  toolCalls: [{ name: "attempt_completion", arguments: { result, ...more } }],
});
const reads = (path: string): ModelStep => ({ toolCalls: [{ name: "read_file", arguments: { path } }] });

describe("when a task can be called complete", () => {
  const call = (tool: string, outcome: PastCall["outcome"], id = tool): PastCall => ({
    id,
    tool,
    args: {},
    path: null,
    polling: false,
    changes: false,
    outcome,
    result: "",
    metrics: null,
  });
  const final = call("attempt_completion", "open", "final");
  const problem = (...rounds: PastCall[][]): string | null => {
    const turn: Turn = {
      userRequest: "",
      rounds: rounds.map((calls) => ({ text: "", reasoning: "", forced: false, calls })),
    };
    return completionProblem(turn, "final", new Set(["attempt_completion"]));
  };

  it.each([
    ["nothing was called before", [[final]], null],
    ["the latest calls went well", [[call("read_file", "success")], [final]], null],
    ["the latest call failed", [[call("read_file", "failed")], [final]], /read_file/u],
    ["one of several failed", [[call("read_file", "success"), call("move_file", "failed")], [final]], /move_file/u],
    ["a failure was followed up", [[call("read_file", "failed")], [call("list_files", "success")], [final]], null],
    ["a person has refused a call", [[call("delete_file", "refused")], [final]], null],
    ["another call of the reply is open", [[call("read_file", "open"), final]], /have not come yet/u],
    [
      "it was refused once, and nothing was done since",
      [[call("read_file", "failed")], [call("attempt_completion", "refused", "earlier")], [final]],
      /read_file/u,
    ],
  ])("%s", (_name, rounds, expected) => {
    if (expected === null) expect(problem(...rounds)).toBeNull();
    else expect(problem(...rounds)).toMatch(expected);
  });
});

describe("attempt_completion", () => {
  it("ends the turn with its result, without another model call", async () => {
    const flow = await start({ stream: true, files: { a: "1" }, script: [reads("a"), completes("The file says 1.")] });
    const { messages } = await flow.send("What does a say?", free);
    expect(messages.map((message) => message.getType())).toEqual(["human", "ai", "tool", "ai", "tool", "ai"]);
    expect(messages.at(-1)?.text).toBe("The file says 1.");
    expect(messages.at(-1)?.additional_kwargs["end_reason"]).toBe("completed");
    expect(flow.streamed.get(messages.at(-1)?.id ?? "")).toBe("The file says 1.");
    expect(flow.events).toContainEqual(
      expect.objectContaining({ type: "agentic_loop.complete", end_reason: "completed" }),
    );
    expect(flow.events.findLast((event) => event.type === "agentic_loop.state_changed")).toMatchObject({
      from_state: "aggregating",
      to_state: "complete",
    });
    flow.model.assertFinished();
  });

  it("shows a command and does not run it", async () => {
    const flow = await start({ script: [completes("The page is ready.", { command: "open index.html" })] });
    const { messages } = await flow.send("Make a page", free);
    expect(messages.at(-1)?.text).toBe("The page is ready.\n\n```sh\nopen index.html\n```");
  });

  it("shows the whole of a long result", async () => {
    const result = "All of it. ".repeat(1000).trim();
    const flow = await start({ script: [completes(result)] });
    const { messages } = await flow.send("Tell me all", free);
    expect(messages.at(-1)?.text).toBe(result);
  });

  it("is refused while the latest call has failed, and accepted once that was followed up", async () => {
    const flow = await start({
      files: { "b.txt": "2" },
      script: [reads("a.txt"), completes("It says 1."), reads("b.txt"), completes("b.txt says 2; there is no a.txt.")],
    });
    const { messages } = await flow.send("Read the file", free);
    expect(messages.filter(isToolMessage).map(({ additional_kwargs }) => additional_kwargs["code"])).toEqual([
      "NOT_FOUND",
      "NOT_COMPLETE",
      "OK",
      "OK",
    ]);
    expect(messages.at(-1)?.text).toBe("b.txt says 2; there is no a.txt.");
    flow.model.assertFinished();
  });

  it("is refused beside other calls, which are run", async () => {
    const both: ModelStep = {
      toolCalls: [
        { name: "read_file", arguments: { path: "a" } },
        { name: "attempt_completion", arguments: { result: "Done." } },
      ],
    };
    const flow = await start({ files: { a: "1" }, script: [both, { text: "It says 1." }] });
    const { messages } = await flow.send("Read a", free);
    expect(messages.filter(isToolMessage).map(({ status }) => status)).toEqual(["success", "error"]);
    expect(messages.at(-1)?.text).toBe("It says 1.");
  });
});

describe("the result mode of a run", () => {
  it("shows the results of its tools and ends the turn", async () => {
    const flow = await start({ files: { a: "seven" }, script: [reads("a")] });
    const { messages } = await flow.send("Show me a", { ...free, result_mode: "show" });
    expect(messages.at(-1)?.getType()).toBe("ai");
    expect(messages.at(-1)?.text).toContain("seven");
    expect(messages.at(-1)?.additional_kwargs["end_reason"]).toBe("answered");
    flow.model.assertFinished();
  });

  it("is that of the tool where the run says nothing, and the run's before it (LOOP-23)", async () => {
    const clock = defineTool({
      name: "show_time",
      description: "Shows the time.",
      schema: z.object({}),
      effect: "pure",
      resources: () => [],
      inTurn: { resultMode: "show" },
      run: async () => success("It is noon."),
    });
    const call: ModelStep = { toolCalls: [{ name: "show_time", arguments: {} }] };
    const flow = await start({ script: [call, call, { text: "Lunch." }] });
    flow.services.addedTools = [clock];
    expect((await flow.send("What time is it?", free)).messages.at(-1)?.text).toBe("It is noon.");
    const fed = await flow.send("What time is it?", { ...free, result_mode: "feed" });
    expect(fed.messages.at(-1)?.text).toBe("Lunch.");
  });

  it("gives a failure back to the model all the same", async () => {
    const flow = await start({ files: { a: "seven" }, script: [reads("b"), reads("a")] });
    const { messages } = await flow.send("Show me a", { ...free, result_mode: "show" });
    expect(messages.at(-1)?.text).toContain("seven");
  });

  it("feeds results back by default", async () => {
    const flow = await start({ files: { a: "seven" }, script: [reads("a"), { text: "It says seven." }] });
    const { messages } = await flow.send("Read a", { ...free, result_mode: "feed" });
    expect(messages.at(-1)?.text).toBe("It says seven.");
  });
});
