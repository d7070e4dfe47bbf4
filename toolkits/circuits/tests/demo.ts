import { deepEqual, equal, match, ok } from "node:assert/strict";
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { projectFolder } from "../../../tests/support/source-files.ts";
import type { ServerProcess } from "../../../tests/support/processes/server-process.ts";
import type { ModelStep } from "@millrace/testing/model-server";
import type { Demo } from "../../../tests/e2e/demo/demo-session.ts";
import { questionOf, turn, withScriptedModel } from "../../../tests/e2e/demo/demo-turns.ts";
import { note, say } from "../../../tests/e2e/demo/demo-view.ts";

const circuit = "cmos-amplifier.cir";
const samples = join(projectFolder, "samples/circuits");

/** An amplifier is designed: its goals are written down, it is simulated and measured, changed until they are reached, and accepted. */
const circuitDesign: Demo = {
  prepare(workspace) {
    for (const name of ["rc-low-pass.cir", circuit]) copyFileSync(join(samples, name), join(workspace, name));
  },
  async perform(server, workspace) {
    await measureFilter(server);
    await withScriptedModel(server, script, {}, async () => {
      const { thread_id: thread } = await server.client.threads.create({ metadata: { name: "Amplifier" } });
      await writeGoals(server, workspace, thread);
      await simulateFirst(server, thread);
      await optimise(server, workspace, thread);
      await accept(server, workspace, thread);
    });
  },
};

const calls = (name: string, given: Record<string, unknown>): ModelStep => ({
  toolCalls: [{ name, arguments: given }],
});
const simulates = calls("run_simulation", { circuit });
const wider = ["M1 x inp s 0", "M2 out inn s 0"].map((pins) => ({
  find: `${pins} nch w=40u l=1u`,
  replace: `${pins} nch w=80u l=1u`,
}));
const goals = [
  { name: "gain", operator: ">=", value: 40, unit: "dB" },
  { name: "unity_gain_frequency", operator: ">=", value: 200, unit: "MHz" },
  { name: "phase_margin", operator: ">=", value: 60, unit: "deg" },
  { name: "power", operator: "<=", value: 1.2, unit: "mW" },
];
const script: ModelStep[] = [
  calls("rewrite_file", { path: ".circuit_ai/design_goals.json", content: `${JSON.stringify({ goals }, null, 2)}\n` }),
  { text: "The four goals are written down." },
  simulates,
  { text: "The amplifier is too slow." },
  calls("patch_file", { path: circuit, changes: [{ find: "Ib vdd b 50u", replace: "Ib vdd b 100u" }] }),
  simulates,
  { text: "More current helps, and is not enough." },
  calls("patch_file", { path: circuit, changes: wider }),
  simulates,
  calls("plot_simulation", { circuit, analysis: "ac", signals: ["out"] }),
  calls("plot_simulation", { circuit, analysis: "ac", signals: ["out"], format: "png" }),
  { text: "Wider transistors at the input do the rest." },
];

async function measureFilter(server: ServerProcess): Promise<void> {
  const request = "Simulate rc-low-pass.cir";
  say(1, "A filter is simulated and measured, by ngspice (the offline model)", request);
  const { thread_id: thread } = await server.client.threads.create({ metadata: { name: "Filter" } });
  const result = await turn(server, thread, request, {});
  const bandwidth = Number(/bandwidth ([\d.]+) Hz/u.exec(result)?.[1]);
  ok(Math.abs(bandwidth - 159.155) < 0.8, `1 / (2 pi R C) is 159.155 Hz, measured was: ${result}`);
}

async function writeGoals(server: ServerProcess, workspace: string, thread: string): Promise<void> {
  const request =
    "I need a gain of 40 dB, 200 MHz at unity gain, a phase margin of 60 degrees, and no more than 1.2 mW.";
  say(2, "The goals are found in the user's words (a scripted model from here on)", request);
  await turn(server, thread, request, { model: "openai:demo", action_type: "extract_design_goals" });
  const written: unknown = JSON.parse(readFileSync(join(workspace, ".circuit_ai/design_goals.json"), "utf8"));
  deepEqual(written, { goals }, "the goals were not written down");
}

async function simulateFirst(server: ServerProcess, thread: string): Promise<void> {
  const request = `Optimise ${circuit}`;
  say(3, "The first iteration: one of the goals is missed, and the server asks what comes next", request);
  const context = { model: "openai:demo", work_mode: "workflow", action_type: "optimize_parameters" };
  const measured = await turn(server, thread, request, context);
  match(measured, /Goal gain: at least 40 dB, reached with 44\.\d+ dB/u, `the gain should be reached: ${measured}`);
  match(await questionOf(server, thread), /design_checkpoint/u);
  const { summary } = await review(server, thread);
  match(summary, /unity_gain_frequency: at least 200 MHz, missed: 104\.\d+ MHz/u, `it should be too slow: ${summary}`);
}

async function optimise(server: ServerProcess, workspace: string, thread: string): Promise<void> {
  say(4, "Two more iterations: the circuit is changed, and simulated again", "Continue optimising");
  await choose(server, thread, "continue_optimizing");
  const second = await review(server, thread);
  match(second.summary, /Iteration 2 is done\.[\s\S]*unity_gain_frequency: at least 200 MHz, missed/u);
  ok(!second.choices.includes("accept_design"), "a design that misses a goal cannot be accepted");
  note("The model raises the bias current from 50 to 100 uA.");
  tell(second.summary);
  await choose(server, thread, "continue_optimizing");
  const third = await review(server, thread);
  match(third.summary, /Iteration 3 is done\.[\s\S]*All goals are reached\./u);
  equal(third.choices[0], "accept_design", "to accept it should be proposed first");
  note("The model makes the input transistors twice as wide.");
  tell(third.summary);
  match(readFileSync(join(workspace, "cmos-amplifier_ac.svg"), "utf8"), /^<svg[\s\S]*<polyline/u, "there is no plot");
  equal(readFileSync(join(workspace, "cmos-amplifier_ac.png")).toString("latin1", 1, 4), "PNG", "there is no picture");
  note("cmos-amplifier_ac.svg and .png show gain and phase.");
}

async function accept(server: ServerProcess, workspace: string, thread: string): Promise<void> {
  say(5, "The design is accepted", "Accept the design");
  await choose(server, thread, "accept_design");
  equal((await server.client.threads.get(thread)).status, "idle", "the session should wait for nothing");
  const { metrics } = z
    .looseObject({ metrics: z.record(z.string(), z.number()) })
    .parse(JSON.parse(readFileSync(join(workspace, "cmos-amplifier_sim.json"), "utf8")));
  ok((metrics["unity_gain_frequency"] ?? 0) >= 200e6, `the result on disk says otherwise: ${JSON.stringify(metrics)}`);
  match(readFileSync(join(workspace, circuit), "utf8"), /M1 x inp s 0 nch w=80u l=1u[\s\S]*Ib vdd b 100u/u);
  note(`${circuit} stays as it was designed, with its result beside it.`);
}

const Proposed = z.array(
  z.looseObject({ status_summary: z.string(), options: z.array(z.looseObject({ id: z.string() })) }),
);

/** What the last iteration came to, and what may come next. */
async function review(server: ServerProcess, thread: string): Promise<{ summary: string; choices: string[] }> {
  const response = await fetch(`${server.url}/threads/${thread}/suggestions`);
  const last = Proposed.parse(await response.json()).at(-1);
  return { summary: last?.status_summary ?? "", choices: last?.options.map(({ id }) => id) ?? [] };
}

/** Chooses what comes next, and waits until that has happened. */
async function choose(server: ServerProcess, thread: string, id: string): Promise<void> {
  note(`Choice: ${id}.`);
  const response = await fetch(`${server.url}/threads/${thread}/suggestions/${id}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  equal(response.status, 200, `the choice was refused: ${await response.clone().text()}`);
  const { run_id: run } = z.looseObject({ run_id: z.string() }).parse(await response.json());
  await server.client.runs.join(thread, run);
}

function tell(summary: string): void {
  note(summary);
}

/** What `npm run demo -- <name>` shows. */
export const demos = { circuit: circuitDesign };
