import { mkdir, mkdtemp, realpath, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { circuitFile } from "../collectors/circuit-file.ts";
import type { CircuitPlace } from "../collectors/circuit-place.ts";
import { designGoals } from "../collectors/design-goals.ts";
import { diagnostics, faultsOf } from "../collectors/diagnostics.ts";
import { simulation } from "../collectors/simulation.ts";
import { circuits } from "../index.ts";

const amplifier = [
  "Amplifier",
  "* one stage",
  '.include "models/npn.inc"',
  '.include "models/gone.inc"',
  ".subckt stage in out",
  "Q1 out in 0 npn",
  "R1 out vcc 1k",
  ".ends",
  "X1 a b stage",
  "R2 a 2x 10k",
  ".subckt open a",
].join("\n");
const changed = Date.parse("2026-01-01T00:00:00Z");
const endings = ["cir", "sp", "spice", "sub", "inc"];
const files: Record<string, string> = {
  ...Object.fromEntries(endings.map((ending) => [`endings/a.${ending}`, "All"])),
  "amp.cir": amplifier,
  "models/npn.inc": ".model npn npn",
  "result.json": JSON.stringify({ metrics: { gain: 38.5 }, config: { temperature: 27 }, timestamp: changed / 1000 }),
  "broken.json": "{",
  "failed.json": JSON.stringify({ analysis_type: "ac", error: "no convergence", timestamp: changed }),
  "lib/named.v2.cir": "Named",
  "lib/named.v2_sim.json": JSON.stringify({ metrics: { gain: 2 }, timestamp: changed }),
  "lib/named.v2_goals.json": JSON.stringify([{ metric: "gain", target: 3 }]),
  ".circuit_ai/design_goals.json": JSON.stringify({
    goals: [
      { metric: "gain", target: 40, priority: 1 },
      { metric: "bandwidth", target: 1000, tolerance: 50 },
    ],
  }),
};

let where: CircuitPlace;
beforeAll(async () => {
  const workspace = await realpath(await mkdtemp(join(tmpdir(), "millrace-collectors-")));
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(workspace, path)), { recursive: true });
    await writeFile(join(workspace, path), content);
    await utimes(join(workspace, path), changed / 1000, changed / 1000);
  }
  where = {
    workspace,
    circuit_file: "amp.cir",
    sim_result: "result.json",
    design_goals: null,
    error: "no convergence",
    metrics: { gain: 38.5, bandwidth: 1020 },
    now: changed + 7 * 60_000,
  };
});
afterAll(() => rm(where.workspace, { recursive: true, force: true }));

const { signal } = new AbortController();
const warn = (reason: string): never => expect.unreachable(reason);

describe("the collectors of circuits", () => {
  it("show the circuit whole, with line numbers and what it is made of (CIRC-01)", async () => {
    const text = await circuitFile.collect(where, signal, warn);
    expect(text).toContain("File: amp.cir\nChanged: 2026-01-01T00:00:00.000Z\nTitle: Amplifier\nComments: one stage");
    expect(text).toContain("Sub-circuits: stage, open\nComponents: Q 1, R 2, X 1");
    expect(text).toContain("```spice\n1: Amplifier\n2: * one stage\n");
    expect(text).toContain("11: .subckt open a\n```");
    expect(await circuitFile.collect({ ...where, circuit_file: "notes.md" }, signal, warn)).toBeNull();
    for (const ending of endings) {
      const circuit_file = `endings/a.${ending}`;
      expect(await circuitFile.collect({ ...where, circuit_file }, signal, warn)).toContain(`File: ${circuit_file}`);
    }
  });

  it("show the results of the last simulation, and their age (CIRC-02)", async () => {
    expect(await simulation.collect(where, signal, warn)).toBe(
      "File: result.json, 7 minutes old\nFigures: gain = 38.5\nSet up: temperature = 27",
    );
    expect(await simulation.collect({ ...where, sim_result: "failed.json" }, signal, warn)).toBe(
      "File: failed.json, 7 minutes old\nAnalysis: type = ac\nError in the result: no convergence",
    );
    await expect(simulation.collect({ ...where, sim_result: "broken.json" }, signal, warn)).rejects.toThrow("not JSON");
    await expect(simulation.collect({ ...where, sim_result: "../out.json" }, signal, warn)).rejects.toThrow("Refused");
    expect(await simulation.collect({ ...where, sim_result: null }, signal, warn)).toBeNull();
  });

  it("show the goals, and how far the figures are from them (CIRC-03)", async () => {
    expect(await designGoals.collect(where, signal, warn)).toBe(
      [
        "- gain: target 40, priority 1, not reached: 38.5, off by -1.5",
        "- bandwidth: target 1000, tolerance 50, reached with 1020",
      ].join("\n"),
    );
    expect(await designGoals.collect({ ...where, design_goals: "none.json" }, signal, warn)).toBeNull();
    await expect(designGoals.collect({ ...where, design_goals: "result.json" }, signal, warn)).rejects.toThrow("goals");
  });

  it("find the result and the goals that are named after the circuit, unless the session names others (CIRC-07)", async () => {
    const named = { ...where, circuit_file: "lib/named.v2.cir", sim_result: null };
    expect(await simulation.collect(named, signal, warn)).toContain(
      "lib/named.v2_sim.json, 7 minutes old\nFigures: gain = 2",
    );
    expect(await designGoals.collect(named, signal, warn)).toContain("- gain: target 3, ");
    expect(await simulation.collect({ ...named, sim_result: "result.json" }, signal, warn)).toContain("gain = 38.5");
    const others = { ...named, design_goals: ".circuit_ai/design_goals.json" };
    expect(await designGoals.collect(others, signal, warn)).toContain("- gain: target 40, ");
  });

  it("report what is wrong with the circuit, each fault with its lines (CIRC-04)", async () => {
    const text = (await diagnostics.collect(where, signal, warn)) ?? "";
    expect(text.split("\n").filter((line) => !/^[ >] \d+:/u.test(line))).toEqual([
      "Simulation: no convergence",
      "amp.cir:4: the file models/gone.inc is not there",
      "amp.cir:10: the name of the node 2x begins with a digit",
      "amp.cir:11: .subckt open has no .ends",
      "amp.cir:7: warning: only one element is connected to the node vcc",
      "amp.cir:11: warning: the sub-circuit open is not used in this file",
    ]);
    expect(text).toContain("> 10: R2 a 2x 10k");
    // Five lines before and after, where there are so many.
    const shown = text.split(/^amp\.cir:.*$/mu).map((part) => [...part.matchAll(/^[ >] (\d+):/gmu)].map(([, n]) => n));
    const lines = (from: number, to: number): string[] =>
      Array.from({ length: to - from + 1 }, (_, index) => String(from + index));
    expect(shown).toEqual([[], lines(1, 9), lines(5, 11), lines(6, 11), lines(2, 11), lines(6, 11)]);
  });

  it.each([
    [["t", '.include "a.inc'], "a quotation mark is not closed"],
    [["t", ".ends"], ".ends without a .subckt before it"],
    [["t", ".subckt a 1 2", ".subckt b 1 2", ".ends"], ".subckt a has no .ends"],
  ])("find the fault of %o", (lines, message) => {
    expect(faultsOf(lines).map((fault) => fault.message)).toEqual([message]);
  });

  it("find none in a sound circuit", () => {
    expect(faultsOf(["title's", '* a "comment', "R1 in out 10k", "C1 out 0 1u", ".subckt s a b", ".ends s"])).toEqual(
      [],
    );
  });

  it("is in the order and with the reservations of the requirements (CTX-14)", () => {
    const required = [
      ["diagnostics", 500],
      ["circuit_file", 0],
      ["dependencies", 1000],
      ["design_goals", 300],
      ["simulation", 500],
      ["search_hits", 0],
    ];
    const inOrder = circuits.collectors.toSorted((left, right) => left.priority - right.priority);
    // Others may stand among them.
    const found = inOrder.map(({ name, reserved }) => [name, reserved]);
    expect(found.filter(([name]) => required.some(([known]) => known === name))).toEqual(required);
  });
});
