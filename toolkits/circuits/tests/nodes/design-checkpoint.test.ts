import { writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isAIMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { createTestOperations } from "../../../../tests/support/test-storage.ts";
import type { ModelStep } from "@millrace/testing/model-server-script";
import { wireText } from "@millrace/testing/model-server";
import { startWorkflow, type TestWorkflow } from "../../../../tests/support/workflow.ts";
import { circuitState } from "../../state.ts";
import { hasPrompt } from "../../../../tests/support/system-text.ts";
import { fixError } from "../../prompts/fix-error.ts";
import { optimizeParameters } from "../../prompts/optimize-parameters.ts";

let running: TestWorkflow | undefined;
afterEach(async () => {
  await running?.close();
  running = undefined;
});

const circuit = (resistor: string): string =>
  ["Low-pass", "V1 in 0 dc 0 ac 1", `R1 in out ${resistor}`, "C1 out 0 1u", ".ac dec 20 1 100k", ".end", ""].join("\n");
const goals = JSON.stringify([{ metric: "bandwidth", target: "1 kHz", tolerance: "50 Hz" }]);
const simulates: ModelStep = { toolCalls: [{ name: "run_simulation", arguments: { circuit: "rc.cir" } }] };
const patches = (find: string, replace: string): ModelStep => ({
  toolCalls: [{ name: "patch_file", arguments: { path: "rc.cir", changes: [{ find, replace }] } }],
});
const inWorkflow = { work_mode: "workflow", action_type: "optimize_parameters" };

async function start(script: ModelStep[], files: Record<string, string> = {}): Promise<TestWorkflow> {
  running = await startWorkflow({
    script,
    files: { "rc.cir": circuit("1k"), ".circuit_ai/design_goals.json": goals, ...files },
  });
  running.services.operations = await createTestOperations("session-1");
  return running;
}

const Asked = z.looseObject({
  kind: z.string(),
  status_summary: z.string(),
  suggestions: z.array(z.object({ id: z.string(), label: z.string(), value: z.string() })),
});
const asked = async (flow: TestWorkflow) => Asked.parse((await flow.interrupts())[0]?.value);
const idsOf = ({ suggestions }: z.infer<typeof Asked>): string[] => suggestions.map(({ id }) => id);
const systemOf = (flow: TestWorkflow, at: number): string => {
  const first = flow.model.requests[at]?.messages[0];
  return first === undefined ? "" : wireText(first);
};

describe("the checkpoint after an iteration of a design (CIRC-09)", () => {
  it("waits with a summary and suggestions, which are a message of the conversation too", async () => {
    const flow = await start([simulates, { text: "Measured." }]);
    const state = await flow.send("Optimise rc.cir", inWorkflow);
    const question = await asked(flow);
    expect(question.kind).toBe("design_checkpoint");
    expect(question.status_summary).toContain("Iteration 1 is done.");
    expect(question.status_summary).toMatch(/bandwidth: about 1 kHz, missed: 159\.\d+ Hz, off by -840\.\d+ Hz/u);
    expect(idsOf(question)).toEqual(["continue_optimizing", "modify_goals", "undo", "stop"]);
    const last = state.messages.at(-1);
    expect(last?.additional_kwargs).toMatchObject({
      status_summary: question.status_summary,
      suggestions: question.suggestions,
    });
    expect(state).toMatchObject({ sim_result_path: "rc_sim.json", circuit_file_path: "rc.cir", error_context: null });
    expect(circuitState(state).last_metrics?.["bandwidth"]).toBeCloseTo(159, 0);
  });

  it("goes on to optimise until the goals are reached, and then offers to accept", async () => {
    const flow = await start([
      simulates,
      { text: "The bandwidth is 159 Hz." },
      patches("R1 in out 1k", "R1 in out 159"),
      simulates,
      { text: "The bandwidth is 1 kHz." },
    ]);
    await flow.send("Optimise rc.cir", inWorkflow);
    await flow.answer("continue_optimizing", inWorkflow);
    expect(hasPrompt(systemOf(flow, 2), optimizeParameters)).toBe(true);
    const question = await asked(flow);
    expect(question.status_summary).toContain("Iteration 2 is done.");
    expect(question.status_summary).toContain("All goals are reached.");
    expect(idsOf(question)).toEqual(["accept_design", "continue_optimizing", "modify_goals", "undo", "stop"]);
    const state = await flow.answer("Accept the design", inWorkflow);
    expect(await flow.interrupts()).toEqual([]);
    expect(state.messages.at(-1)?.text).toBe("The design is accepted. The files stay as they are.");
    flow.model.assertFinished();
  });

  it("goes on where something else lies in the place of the result by then", async () => {
    const flow = await startWorkflow({
      files: { "rc.cir": circuit("1k"), ".circuit_ai/design_goals.json": goals },
      handler({ index }) {
        if (index === 0) return simulates;
        // A user saves something else there while the model answers.
        writeFileSync(join(flow.workspace, "rc_sim.json"), Buffer.from([0, 1, 2]));
        return { text: "Measured." };
      },
    });
    running = flow;
    await flow.send("Optimise rc.cir", inWorkflow);
    const { status_summary } = await asked(flow);
    expect(status_summary).toContain("Iteration 1 is done.");
    expect(status_summary).not.toContain("off by");
  });

  it("offers to fix a simulation that failed, and only then; the fix has the task text of its own", async () => {
    const flow = await start(
      [simulates, { text: "It failed." }, patches("R1 in out", "R1 in out 1k"), simulates, { text: "Repaired." }],
      { "rc.cir": circuit("") },
    );
    const failed = await flow.send("Optimise rc.cir", inWorkflow);
    expect(failed.error_context).toContain("rc.cir:3");
    const question = await asked(flow);
    expect(question.status_summary).toContain("The simulation failed");
    expect(idsOf(question)).toEqual(["fix_error", "continue_optimizing", "modify_goals", "stop"]);
    const fixed = await flow.answer({ type: "answer", text: "fix_error" }, inWorkflow);
    expect(hasPrompt(systemOf(flow, 2), fixError)).toBe(true);
    expect(fixed.error_context).toBeNull();
  });

  it("takes back what the iteration has changed", async () => {
    const flow = await start([patches("R1 in out 1k", "R1 in out 2k"), simulates, { text: "Worse." }]);
    await flow.send("Optimise rc.cir", inWorkflow);
    expect(await readFile(join(flow.workspace, "rc.cir"), "utf8")).toBe(circuit("2k"));
    const state = await flow.answer("Undo this iteration", inWorkflow);
    expect(await readFile(join(flow.workspace, "rc.cir"), "utf8")).toBe(circuit("1k"));
    expect(state.messages.at(-1)?.text).toContain("As before the iteration again: rc_sim.json, rc.cir.");
    expect(state["last_metrics"]).toBeNull();
    await expect(readFile(join(flow.workspace, "rc_sim.json"), "utf8")).rejects.toThrow("ENOENT");
  });

  it("has the figures of the iteration before again, when one is taken back", async () => {
    const flow = await start([
      simulates,
      { text: "Measured." },
      patches("R1 in out 1k", "R1 in out 2k"),
      simulates,
      { text: "Worse." },
    ]);
    const first = await flow.send("Optimise rc.cir", inWorkflow);
    const before = circuitState(first).last_metrics;
    await asked(flow);
    const second = await flow.answer({ type: "answer", text: "continue_optimizing" }, inWorkflow);
    expect(circuitState(second).last_metrics).not.toEqual(before);
    const undone = await flow.answer("Undo this iteration", inWorkflow);
    expect(circuitState(undone).last_metrics).toEqual(before);
  });

  it("takes other words as the next request, without the action that the run has chosen", async () => {
    const flow = await start([simulates, { text: "Measured." }, { text: "A resistor of 159 ohms would do." }]);
    await flow.send("Optimise rc.cir", inWorkflow);
    const state = await flow.answer("Read rc.cir and say which resistor would do", {
      ...inWorkflow,
      mode: "free_work",
    });
    expect(hasPrompt(systemOf(flow, 2), optimizeParameters)).toBe(false);
    expect(state.messages.at(-1)?.text).toBe("A resistor of 159 ohms would do.");
    expect(await flow.interrupts()).toEqual([]);
  });

  it("uses the language of the request, and ends after a refusal", async () => {
    const flow = await start([simulates, { text: "测量完成。" }]);
    await flow.send("请优化 rc.cir", inWorkflow);
    const question = await asked(flow);
    expect(question.status_summary).toContain("第 1 次迭代完成。");
    expect(question.suggestions.map(({ label }) => label)).toContain("继续优化");
    const state = await flow.answer({ type: "reject" }, inWorkflow);
    expect(state.messages.at(-1)?.text).toBe("好的，设计到此停止，文件保持现状。");
  });

  it("asks again when an answer cannot be used", async () => {
    const flow = await start([simulates, { text: "Measured." }]);
    await flow.send("Optimise rc.cir", inWorkflow);
    await flow.answer({ type: "maybe" }, inWorkflow);
    expect((await flow.interrupts())[0]?.value).toMatchObject({ problem: expect.stringContaining("Expected words") });
  });

  it.each([
    ["outside of the workflow", { action_type: "optimize_parameters" }, [simulates, { text: "Done." }]],
    ["where the run does not want it", { ...inWorkflow, design_checkpoint: false }, [simulates, { text: "Done." }]],
    ["after a turn without a simulation", inWorkflow, [{ text: "Done." }]],
  ])("is not put %s", async (_, context, script) => {
    const flow = await start(script);
    const { messages } = await flow.send("Optimise rc.cir", context);
    expect(await flow.interrupts()).toEqual([]);
    expect(messages.filter((message) => isAIMessage(message)).at(-1)?.text).toBe("Done.");
  });
});

it("reports stagnation when figures do not improve between simulations (GUARD-04, CIRC-11)", async () => {
  const flow = await start([
    simulates,
    patches("R1 in out 1k", "R1 in out 1.1k"),
    simulates,
    patches("R1 in out 1.1k", "R1 in out 1.2k"),
    simulates,
    { text: "It gets no better." },
  ]);
  await flow.send("Optimise rc.cir", { action_type: "optimize_parameters" });
  const detected = flow.events.filter((event) => event.type === "loop_detected");
  expect(detected).toMatchObject([{ rule: "stagnation", stage: "warn" }]);
  expect(detected[0]?.reason).toContain("bandwidth");
});
