import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ModelStep } from "@millrace/testing/model-server";
import { startWorkflow, type TestWorkflow, type TestWorkflowOptions } from "../../support/workflow.ts";
import { mayCall } from "@millrace/testing/model-server";

let running: TestWorkflow | undefined;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date", "performance"] });
});
afterEach(async () => {
  vi.useRealTimers();
  await running?.close();
  running = undefined;
});

function pass(seconds: number): void {
  vi.advanceTimersByTime(seconds * 1000);
}

const reads: ModelStep = { toolCalls: [{ name: "read_file", arguments: { path: "a.txt" } }] };
const context = { mode: "free_work", limits: { timeout_seconds: 300 } };

/** A turn whose server breaks down before its second model call, and is down for an hour. */
async function broken(options: TestWorkflowOptions): Promise<TestWorkflow> {
  running = await startWorkflow({ files: { "a.txt": "A" }, ...options });
  const { services } = running;
  const { loadModel } = services;
  let calls = 0;
  services.loadModel = (...given) => {
    calls += 1;
    if (calls > 1) throw new Error("power cut");
    return loadModel(...given);
  };
  await expect(running.send("Read a.txt", context)).rejects.toThrow("power cut");
  services.loadModel = loadModel;
  pass(3600);
  return running;
}

describe("the time of a turn (LOOP-03, C-28)", () => {
  it("does not count how long the server was down: the turn goes on with its tools", async () => {
    const flow = await broken({ script: [reads, { text: "It says A." }] });
    const { messages } = await flow.goOn(context);
    expect(flow.model.requests.at(-1)?.toolNames).toContain("read_file");
    expect(messages.at(-1)?.additional_kwargs["end_reason"]).toBe("answered");
  });

  it("does not count how long a person takes to answer", async () => {
    const asks: ModelStep = { toolCalls: [{ name: "ask_followup_question", arguments: { question: "Which?" } }] };
    running = await startWorkflow({ script: [asks, { text: "June it is." }] });
    await running.send("Print the report", context);
    pass(3600);
    const { messages } = await running.answer("June", context);
    expect(running.model.requests.at(-1)?.toolNames).toContain("read_file");
    expect(messages.at(-1)?.additional_kwargs["end_reason"]).toBe("answered");
  });

  it("counts a tool beside a call that waits for a person, since it begins when all calls of the reply are decided", async () => {
    const both: ModelStep = {
      toolCalls: [
        { name: "read_file", arguments: { path: "a.txt" } },
        { name: "ask_followup_question", arguments: { question: "Which?" } },
      ],
    };
    running = await startWorkflow({
      files: { "a.txt": "A" },
      handler: ({ index }) => {
        pass(10);
        return index === 0 ? both : { text: "June it is." };
      },
    });
    const flow = running;
    const read = (): boolean =>
      flow.events.some((event) => event.type === "agentic_loop.tool_result" && event.tool_name === "read_file");
    await flow.send("Print the report", context);
    expect(read()).toBe(false);
    pass(3600);
    const { ledger } = flow.services;
    flow.services.ledger = {
      ...ledger,
      start: (call) => {
        pass(200);
        return ledger.start(call);
      },
    };
    const { messages } = await flow.answer("June", context);
    expect(read()).toBe(true);
    expect(messages.at(-1)?.additional_kwargs["end_reason"]).toBe("answered");
    expect(flow.events).toContainEqual(
      expect.objectContaining({ type: "agentic_loop.complete", duration_ms: 220_000 }),
    );
  });

  it("counts a tool after an answer, also where nothing had taken any time before", async () => {
    const asks: ModelStep = { toolCalls: [{ name: "delete_file", arguments: { path: "a.txt" } }] };
    running = await startWorkflow({ files: { "a.txt": "A" }, script: [asks, { text: "It is gone." }] });
    const flow = running;
    await flow.send("Tidy up", context);
    pass(3600);
    const { ledger } = flow.services;
    flow.services.ledger = {
      ...ledger,
      start: (call) => {
        pass(400);
        return ledger.start(call);
      },
    };
    const { messages } = await flow.answer(true, context);
    expect(messages.at(-1)?.additional_kwargs["end_reason"]).toBe("timeout");
    expect(flow.events).toContainEqual(
      expect.objectContaining({ type: "agentic_loop.complete", duration_ms: 400_000 }),
    );
  });

  it("counts what was worked before the server went down, and after", async () => {
    const work: ModelStep[] = [reads, reads, { text: "It says A." }];
    const seconds = [200, 150, 0];
    const flow = await broken({
      handler: ({ index }) => {
        pass(seconds[index] ?? 0);
        return work[index] ?? { text: "never asked" };
      },
    });
    const { messages } = await flow.goOn(context);
    expect(flow.model.requests.map(mayCall)).toEqual([true, true, false]);
    expect(messages.at(-1)?.additional_kwargs["end_reason"]).toBe("timeout");
    expect(flow.events).toContainEqual(
      expect.objectContaining({ type: "agentic_loop.complete", duration_ms: 350_000 }),
    );
  });
});
