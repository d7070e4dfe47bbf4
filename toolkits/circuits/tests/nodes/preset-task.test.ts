import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { wireText } from "@millrace/testing/model-server";
import { startWorkflow, type TestWorkflow } from "../../../../tests/support/workflow.ts";
import { hasPrompt } from "../../../../tests/support/system-text.ts";
import { fixError } from "../../prompts/fix-error.ts";
import { freeWork } from "../../../../src/prompts/templates/free-work.ts";
import type { Template } from "../../../../src/prompts/template.ts";
import { promptParts } from "../../../../src/toolkits/composition.ts";

let running: TestWorkflow | undefined;
afterEach(async () => {
  await running?.close();
  running = undefined;
});

/** The workflow of a session that knows its circuit. */
async function start(replies: number): Promise<TestWorkflow> {
  const script = Array.from({ length: replies }, () => ({ text: "Done." }));
  running = await startWorkflow({ script });
  await running.update({
    circuit_file_path: "amp.cir",
    error_context: "singular matrix at node out",
    design_goals_summary: "gain of 40 dB",
    last_metrics: { gain: 31 },
  });
  return running;
}

const system = (flow: TestWorkflow, at: number): string => {
  const first = flow.model.requests[at]?.messages[0];
  return first === undefined ? "" : wireText(first);
};

const templateOf = (action: string): Template => {
  const template = promptParts().templates[action];
  if (template === undefined) throw new Error(`there is no prompt ${action}`);
  return template;
};

describe("a preset action (LOOP-21)", () => {
  it.each([
    ["optimize_parameters", ["amp.cir", "gain of 40 dB", '"gain":31']],
    ["fix_error", ["amp.cir", "singular matrix at node out"]],
    ["write_report", ["amp.cir", "gain of 40 dB", '"gain":31']],
    ["extract_design_goals", ["Request: Help me", "gain of 40 dB", "rewrite_file to: .circuit_ai/design_goals.json"]],
    ["initial_design", ["Goals: gain of 40 dB", "What the user said: Help me", "```spice"]],
    ["analyze_simulation", ['Metrics: {"gain":31}', "Goals: gain of 40 dB", "Circuit: amp.cir"]],
    ["execute_instruction", ["Instruction: Help me", "Circuit: amp.cir", "```spice"]],
    ["general_conversation", ["Message: Help me"]],
  ])("%s works in the loop under its own task text, filled with what the session knows", async (action_type, facts) => {
    const flow = await start(1);
    const { route } = await flow.send("Help me", { action_type });
    expect(route).toBe("action");
    expect(hasPrompt(system(flow, 0), templateOf(action_type))).toBe(true);
    for (const fact of facts) expect(system(flow, 0)).toContain(fact);
    expect(flow.model.requests[0]?.toolNames).toContain("rewrite_file");
    expect(flow.model.requests).toHaveLength(1);
  });

  it("is that of one run: free input after it goes straight to the loop", async () => {
    const flow = await start(2);
    await flow.send("Go on", { action_type: "fix_error" });
    await flow.send("Read amp.cir");
    expect(hasPrompt(system(flow, 1), fixError)).toBe(false);
    expect(hasPrompt(system(flow, 1), freeWork)).toBe(true);
  });

  it("takes the error from the request where the session knows of none", async () => {
    running = await startWorkflow({ script: [{ text: "Done." }] });
    await running.send("No path to ground at n1", { action_type: "fix_error" });
    expect(system(running, 0)).toContain("Error: No path to ground at n1");
  });

  it("of a report reads and writes like any other work, and leaves out what the session does not know (LOOP-25)", async () => {
    const writes = (path: string) => ({ name: "create_file", arguments: { path, content: "Gain: 31 dB" } });
    running = await startWorkflow({
      files: { "sim.json": '{"gain": 31}' },
      script: [
        { toolCalls: [{ name: "read_file", arguments: { path: "sim.json" } }] },
        { toolCalls: [writes("report.md")] },
        { text: "The report is in report.md." },
      ],
    });
    const { messages } = await running.send("Write it to report.md", { action_type: "write_report" });
    expect(system(running, 0)).not.toMatch(/Circuit:|Goals:|Metrics:/u);
    expect(messages.at(-1)?.text).toBe("The report is in report.md.");
    expect(await readFile(join(running.workspace, "report.md"), "utf8")).toBe("Gain: 31 dB");
  });

  it("that does not exist is refused with its name", async () => {
    const flow = await start(1);
    await expect(flow.send("Go on", { action_type: "redesign" })).rejects.toThrow(/action_type/u);
  });
});

describe("the identity for circuits (CIRC-12)", () => {
  it("knows the project, the circuit, the goals as JSON, how the last simulation went and what the user likes", async () => {
    const goals = JSON.stringify([{ metric: "gain", target: 40 }]);
    running = await startWorkflow({ script: [{ text: "Done." }, { text: "Done." }, { text: "Done." }] });
    const context = { profile: "circuit", user_preferences: "E12 values only", mode: "free_work" };
    await running.update({
      project_root: "/projects/amplifier",
      circuit_file_path: "parts/amp.cir",
      design_goals_summary: goals,
    });
    await running.send("Hello", context);
    for (const fact of ["amplifier", "amp.cir", goals, "not run", "E12 values only"]) {
      expect(system(running, 0)).toContain(fact);
    }
    await running.update({ last_metrics: { gain: 31 } });
    await running.send("Hello", context);
    expect(system(running, 1)).toContain("succeeded");
    await running.update({ error_context: "singular matrix" });
    await running.send("Hello", context);
    expect(system(running, 2)).toContain("failed");
  });
});
