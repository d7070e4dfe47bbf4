import { afterEach, describe, expect, it, vi } from "vitest";
import { repairToolPairs } from "@millrace/engine/message-kinds";
import type { ModelStep } from "@millrace/testing/model-server";
import { startWorkflow, type TestWorkflow, type TestWorkflowOptions } from "../../support/workflow.ts";

let running: TestWorkflow | undefined;
afterEach(async () => {
  vi.useRealTimers();
  await running?.close();
  running = undefined;
});

async function start(options: TestWorkflowOptions): Promise<TestWorkflow> {
  running = await startWorkflow(options);
  return running;
}

const hangs: ModelStep = { fault: { kind: "hang" } };
const limits = { timeout_seconds: 0.001 };

describe("the time of a turn that is over in its first model call", () => {
  it.each([
    ["free work", { mode: "free_work" }],
    ["a reply without tools", { mode: "reply" }],
    ["a chosen tool", { selected_tool: "list_files" }],
    ["a run that asks about failures", { mode: "free_work", on_error: "ask" }],
  ])("ends %s with a final message and the reason", async (_name, context) => {
    const flow = await start({ handler: ({ index }) => (index === 0 ? hangs : { text: "Here again." }) });
    const { messages } = await flow.send("Look at the files", { ...context, limits });
    expect(messages.map((message) => message.getType())).toEqual(["human", "ai"]);
    expect(messages.at(-1)?.text).toContain("time for one turn is used up");
    expect(messages.at(-1)?.additional_kwargs["end_reason"]).toBe("timeout");
    expect(flow.events.filter(({ type }) => type === "agentic_loop.complete")).toEqual([
      expect.objectContaining({ end_reason: "timeout" }),
    ]);
    expect(await flow.interrupts()).toEqual([]);
    const next = await flow.send("And now?", { mode: "reply" });
    expect(next.messages.at(-1)?.text).toBe("Here again.");
  });

  it("leaves the turn to go on where only the program reads the answer, and asks that no second time", async () => {
    const flow = await start({ handler: ({ index }) => (index === 0 ? hangs : { text: "Compared." }) });
    await flow.send("write a report", { limits });
    expect(flow.model.requests).toHaveLength(1);
    expect((await flow.interrupts())[0]?.value).toMatchObject({ kind: "clarify" });
    const { messages } = await flow.answer("on mills");
    expect(messages.at(-1)?.text).toBe("Compared.");
    expect(repairToolPairs(messages)).toBe(messages);
  });
});

it("the time of a turn is not used up by a clock of the machine that is set ahead meanwhile", async () => {
  const flow = await start({
    handler: ({ index }) => {
      if (index > 0) return { text: "There is nothing here." };
      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_600_000 });
      return { toolCalls: [{ name: "list_files", arguments: {} }] };
    },
  });
  await flow.send("Look at the files", { mode: "free_work", limits: { timeout_seconds: 300 } });
  expect(flow.events.findLast(({ type }) => type === "agentic_loop.complete")).toMatchObject({
    end_reason: "answered",
  });
});
