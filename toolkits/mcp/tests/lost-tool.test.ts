import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Tool } from "../../../src/tools/runtime/tool.ts";
import { success } from "../../../src/tools/runtime/result.ts";
import { startWorkflow, type TestWorkflow } from "../../../tests/support/testing.ts";

/** A workflow whose run has one tool of a source, and a model that calls it. */
async function aRun(approval: "ask" | "allow"): Promise<{ flow: TestWorkflow; runs: () => number }> {
  const flow = await startWorkflow({
    script: [{ toolCalls: [{ name: "far__send", arguments: { to: "Ada" } }] }, { text: "Understood." }],
  });
  let runs = 0;
  const tool: Tool = {
    name: "far__send",
    description: "Sends",
    schema: z.object({ to: z.string() }),
    effect: "unsafe",
    timeoutSeconds: 10,
    resources: () => [],
    operation: async () =>
      approval === "ask" ? { type: "HighRiskOperation", what: "send a letter" } : { type: "SimpleModify" },
    run: async () => {
      runs += 1;
      return success("Sent.");
    },
  };
  flow.services.addedTools = [tool];
  return { flow, runs: () => runs };
}

async function resultIn(flow: TestWorkflow): Promise<string> {
  const { messages } = await flow.state();
  return messages.find((message) => message.getType() === "tool")?.text ?? "";
}

describe("a tool of a source that is gone when a run goes on", () => {
  it("is no tool any more after the approval, and the run goes on", async () => {
    const { flow, runs } = await aRun("ask");
    await flow.send("Send it.", { mode: "free_work" });
    expect(await flow.interrupts()).toHaveLength(1);
    delete flow.services.addedTools;
    await flow.answer({ decisions: [{ type: "approve" }] });
    expect(await resultIn(flow)).toContain('There is no tool named "far__send"');
    expect(runs()).toBe(0);
    flow.model.assertFinished();
    await flow.close();
  });

  it("gives a result that promises nothing when the run was cut off in the call, and the run goes on", async () => {
    const { flow, runs } = await aRun("allow");
    const { ledger } = flow.services;
    flow.services.ledger = { ...ledger, finish: () => Promise.reject(new Error("the machine is gone")) };
    await expect(flow.send("Send it.", { mode: "free_work" })).rejects.toThrow("the machine is gone");
    expect(runs()).toBe(1);
    flow.services.ledger = ledger;
    delete flow.services.addedTools;
    await flow.answer("go on");
    const result = await resultIn(flow);
    expect(result).toContain("far__send is not there any more");
    expect(result).toContain("not known");
    expect(runs()).toBe(1);
    flow.model.assertFinished();
    await flow.close();
  });
});
