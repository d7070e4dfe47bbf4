import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { runSimulation } from "../../tools/run-simulation.ts";
import { projectFolder } from "../../../../tests/support/source-files.ts";
import { aWorkspace, type Workspace } from "../../../../tests/support/a-workspace.ts";

let workspace: Workspace;
beforeEach(async () => {
  workspace = await aWorkspace();
});
afterEach(async () => await workspace[Symbol.asyncDispose]());

const Result = z.looseObject({
  timestamp: z.iso.datetime(),
  analysis_type: z.string(),
  metrics: z.record(z.string(), z.number()),
  units: z.record(z.string(), z.string()),
  goals: z.array(z.looseObject({ metric: z.string(), state: z.looseObject({ kind: z.string() }) })),
  waveforms: z.array(z.looseObject({ x: z.array(z.number()), rows: z.record(z.string(), z.array(z.number())) })),
});
const resultIn = async (path: string) => Result.parse(JSON.parse(await readFile(join(workspace.root, path), "utf8")));
const sample = async (name: string): Promise<string> =>
  await readFile(join(projectFolder, "samples/circuits", name), "utf8");

describe("a simulation", () => {
  it("measures the circuit, stores the result beside it and sets the session's fields", async () => {
    await workspace.fill({ "amps/cmos.cir": await sample("cmos-amplifier.cir") });
    const result = await workspace.call(runSimulation, {
      circuit: "amps/cmos.cir",
      configuration: { negative_input: "vinn", supply: "vdd" },
    });
    expect(result).toMatchObject({
      success: true,
      session: { circuit_file_path: "amps/cmos.cir", sim_result_path: "amps/cmos_sim.json", error_context: null },
      metrics: { gain: expect.closeTo(44.18, 1), power: expect.closeTo(490e-6, 6), cmrr: expect.closeTo(89.2, 0) },
    });
    expect(result.session?.["last_metrics"]).toEqual(result.metrics);
    expect(result.content).toContain("gain 44.178 dB, bandwidth 653.39 kHz");
    expect(result.content).toContain("Result: amps/cmos_sim.json");
    const written = await resultIn("amps/cmos_sim.json");
    expect(written).toMatchObject({ analysis_type: "op, ac, tran", metrics: result.metrics });
    expect(written.units).toMatchObject({
      gain: "dB",
      bandwidth: "Hz",
      slew_rate: "V/us",
      power: "W",
      phase_margin: "deg",
    });
    expect(written.waveforms).toHaveLength(3);
    expect(Object.keys(written.waveforms[1]?.rows ?? {})[0]).toBe("v(out) dB");
    expect(written.waveforms[1]?.x.length).toBeLessThanOrEqual(300);
  });

  it("writes out the operating point", async () => {
    await workspace.fill({ "d.cir": "Divider\nV1 in 0 10\nR1 in out 1k\nR2 out 0 3k\n.op\n.end\n" });
    const result = await workspace.call(runSimulation, { circuit: "d.cir" });
    expect(result.content).toContain("Operating point: v(in) 10 V, v(out) 7.5 V, i(v1) -2.5 mA.");
  });

  it("names the line that is wrong, also where its nodes are named like other elements", async () => {
    await workspace.fill({ "my/bad.cir": "Bad\nVin vin 0 5\nR1 vin out 1k\nQ1 out  vin 0 2n2222\n.op\n.end\n" });
    const result = await workspace.call(runSimulation, { circuit: "my/bad.cir" });
    expect(result.message).toContain("A model is missing. It is about my/bad.cir:4: Q1 out  vin 0 2n2222.");
  });

  it("takes analyses, temperature and output from the configuration", async () => {
    await workspace.fill({
      "d.cir": "Divider\nV1 a 0 dc 2 ac 1\nR1 a mid 1k\nR2 mid 0 1k tc1=0.01\n.tran 1u 1m\n.end\n",
    });
    const configuration = { analyses: ["op", "ac dec 5 1 1k"], output: "mid", temperature: 127 };
    const result = await workspace.call(runSimulation, { circuit: "d.cir", configuration });
    expect(result.content).toContain("Simulated d.cir: .op, .ac dec 5 1 1k.");
    // The lower resistor doubles: 2/3 of the input.
    expect(result.metrics?.["gain"]).toBeCloseTo(20 * Math.log10(2 / 3), 3);
  });

  it("compares with the goals, by their names, units and ways", async () => {
    const goals = [
      { metric: "Bandwidth", target: "0.1 kHz", tolerance: "10 Hz" },
      { metric: "cutoff", target: 160, tolerance: 5, unit: "Hz" },
      { name: "gain_db", operator: ">=", value: -1 },
      { metric: "rise_time", target: "1 ms" },
      { metric: "psrr", target: 60 },
    ];
    await workspace.fill({
      "rc.cir": await sample("rc-low-pass.cir"),
      ".circuit_ai/design_goals.json": JSON.stringify(goals),
    });
    await workspace.call(runSimulation, { circuit: "rc.cir" });
    const { goals: states } = await resultIn("rc_sim.json");
    expect(states.map(({ metric, state }) => [metric, state.kind])).toEqual([
      ["Bandwidth", "missed"],
      ["cutoff", "reached"],
      ["gain_db", "reached"],
      ["rise_time", "missed"],
      ["psrr", "unknown"],
    ]);
  });

  it("reports what it left out, and that nothing can be measured without an output", async () => {
    await workspace.fill({
      "x.cir": "X\nV1 a 0 ac 1\nR1 a b 1k\nC1 b 0 1n\n.ac dec 5 1 1k\n.print ac v(b)\n.options post\n",
    });
    const { content } = await workspace.call(runSimulation, { circuit: "x.cir" });
    expect(content).toContain("Note: Left out: .print, option post.");
    expect(content).toContain("Note: No output is known");
  });
});

describe("a simulation that fails", () => {
  it("stores the error in the session, and keeps the last result", async () => {
    await workspace.fill({ "rc.cir": await sample("rc-low-pass.cir") });
    await workspace.call(runSimulation, { circuit: "rc.cir" });
    const before = await readFile(join(workspace.root, "rc_sim.json"), "utf8");
    await workspace.fill({ "rc.cir": "Broken\nV1 in 0 1\nD1 in 0 nothing\n.op\n" });
    const result = await workspace.call(runSimulation, { circuit: "rc.cir" });
    expect(result).toMatchObject({
      success: false,
      errorType: "invalid_parameter",
      session: { circuit_file_path: "rc.cir", error_context: expect.stringContaining("rc.cir:3") },
    });
    expect(result.content).toContain("Add a .model line for it");
    expect(await readFile(join(workspace.root, "rc_sim.json"), "utf8")).toBe(before);
  });

  it.each([
    ["a file that is not there", { circuit: "nothing.cir" }, "not_found"],
    ["a path that leads out", { circuit: "../secret.cir" }, "permission"],
    ["an analysis that is none", { circuit: "rc.cir", configuration: { analyses: ["shell ls"] } }, "invalid_parameter"],
    [
      "an analysis with a shell behind it",
      { circuit: "rc.cir", configuration: { analyses: ["op\nshell ls"] } },
      "invalid_parameter",
    ],
  ])("%s is refused", async (_, input, code) => {
    await workspace.fill({ "rc.cir": await sample("rc-low-pass.cir") });
    expect(await workspace.call(runSimulation, input)).toMatchObject({ success: false, errorType: code });
  });
});
