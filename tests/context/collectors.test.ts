import { mkdir, mkdtemp, realpath, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { assembleContext, cutToTokens } from "../../src/context/assembler.ts";
import { collectContext } from "../../src/context/collect.ts";
import { circuitFile } from "../../toolkits/circuits/collectors/circuit-file.ts";
import { collectors } from "../../src/context/collectors/index.ts";
import type { CollectionContext, Collector } from "../../src/context/collectors/collector.ts";
import { designGoals } from "../../toolkits/circuits/collectors/design-goals.ts";
import { diagnostics, faultsOf } from "../../toolkits/circuits/collectors/diagnostics.ts";
import { simulation } from "../../toolkits/circuits/collectors/simulation.ts";
import { countText } from "../../src/context/tokens/tokens.ts";

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
const files: Record<string, string> = {
  "amp.cir": amplifier,
  "models/npn.inc": ".model npn npn",
  "result.json": JSON.stringify({ metrics: { gain: 38.5 }, config: { temperature: 27 }, timestamp: changed / 1000 }),
  "broken.json": "{",
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

let where: CollectionContext;
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
    const told = await circuitFile.collect(where, signal, warn);
    expect(told).toContain("File: amp.cir\nChanged: 2026-01-01T00:00:00.000Z\nTitle: Amplifier\nComments: one stage");
    expect(told).toContain("Sub-circuits: stage, open\nComponents: Q 1, R 2, X 1");
    expect(told).toContain("```spice\n1: Amplifier\n2: * one stage\n");
    expect(told).toContain("11: .subckt open a\n```");
    expect(await circuitFile.collect({ ...where, circuit_file: "notes.md" }, signal, warn)).toBeNull();
  });

  it("tell what the last simulation came to, and how old it is (CIRC-02)", async () => {
    expect(await simulation.collect(where, signal, warn)).toBe(
      "File: result.json, 7 minutes old\nFigures: gain = 38.5\nSet up: temperature = 27",
    );
    await expect(simulation.collect({ ...where, sim_result: "broken.json" }, signal, warn)).rejects.toThrow("not JSON");
    await expect(simulation.collect({ ...where, sim_result: "../out.json" }, signal, warn)).rejects.toThrow("Refused");
    expect(await simulation.collect({ ...where, sim_result: null }, signal, warn)).toBeNull();
  });

  it("tell the goals, and how far the figures are from them (CIRC-03)", async () => {
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

  it("tell what is wrong with the circuit, each fault with its lines (CIRC-04)", async () => {
    const told = (await diagnostics.collect(where, signal, warn)) ?? "";
    expect(told.split("\n").filter((line) => !/^[ >] \d+:/u.test(line))).toEqual([
      "Simulation: no convergence",
      "amp.cir:4: the file models/gone.inc is not there",
      "amp.cir:10: the name of the node 2x begins with a digit",
      "amp.cir:11: .subckt open has no .ends",
      "amp.cir:7: warning: only one element is connected to the node vcc",
      "amp.cir:11: warning: the sub-circuit open is not used in this file",
    ]);
    expect(told).toContain("> 10: R2 a 2x 10k");
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
});

const source = (name: string, collect: Collector["collect"], reserved = 0): Collector => ({
  name,
  title: name,
  priority: 20,
  reserved,
  collect,
});

describe("collecting", () => {
  it("leaves out what fails, what is too slow and what has nothing to say, and tells of the first two", async () => {
    const problems: string[] = [];
    const layers = await collectContext(
      [
        source("broken", async () => {
          throw new Error("no disk");
        }),
        source("endless", () => new Promise(() => undefined)),
        source("silent", async () => null),
        source("good", async () => "found"),
      ],
      where,
      { signal, budget: 100, time: 20, onProblem: (name, reason) => problems.push(`${name}: ${reason}`) },
    );
    expect(layers).toEqual([{ name: "good", text: "## good\n\nfound" }]);
    expect(problems.toSorted()).toEqual(["broken: no disk", "endless: it took longer than 20 ms"]);
  });

  it("asks all at once, and puts what they give in the order of their priorities (CTX-10)", async () => {
    // Each waits until all three have been asked.
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    let waiting = 3;
    const meets = (name: string, priority: Collector["priority"]): Collector => ({
      ...source(name, async () => {
        waiting -= 1;
        if (waiting === 0) resolve();
        await asked;
        return name;
      }),
      priority,
    });
    const layers = await collectContext([meets("low", 30), meets("critical", 0), meets("high", 10)], where, {
      signal,
      budget: 1000,
      onProblem: (name, reason) => expect.unreachable(`${name}: ${reason}`),
    });
    expect(layers.map(({ name }) => name)).toEqual(["critical", "high", "low"]);
  });

  it("ends with a stop", async () => {
    const stop = new AbortController();
    const collecting = collectContext([source("endless", () => new Promise(() => undefined))], where, {
      signal: stop.signal,
      budget: 100,
      onProblem: () => undefined,
    });
    stop.abort(new Error("stopped"));
    await expect(collecting).rejects.toThrow("stopped");
  });

  it("ends at once with a stop that came before it", async () => {
    const collecting = collectContext([source("endless", () => new Promise(() => undefined))], where, {
      signal: AbortSignal.abort(new Error("stopped before")),
      budget: 100,
      onProblem: () => undefined,
    });
    await expect(collecting).rejects.toThrow("stopped before");
  });
});

describe("the assembler (CTX-14)", () => {
  const lines = (count: number): string =>
    Array.from({ length: count }, (_, index) => `line number ${index}`).join("\n");

  it("is in the order and with the reservations of the requirements (CTX-14)", () => {
    const required = [
      ["diagnostics", 500],
      ["circuit_file", 0],
      ["dependencies", 1000],
      ["design_goals", 300],
      ["simulation", 500],
      ["search_hits", 0],
    ];
    const inOrder = collectors.toSorted((left, right) => left.priority - right.priority);
    // Others may stand among them.
    const found = inOrder.map(({ name, reserved }) => [name, reserved]);
    expect(found.filter(([name]) => required.some(([known]) => known === name))).toEqual(required);
  });

  it("keeps to each source what is reserved for it, and gives what is left in order", () => {
    const { items, truncated_count } = assembleContext(
      [
        { source: "diagnostics", content: lines(300), reserved: 500 },
        { source: "circuit", content: lines(300), reserved: 0 },
        { source: "goals", content: "short", reserved: 300 },
      ],
      1500,
    );
    expect(items.map(({ source: name, truncated }) => [name, truncated])).toEqual([
      ["diagnostics", false],
      ["circuit", true],
      ["goals", false],
    ]);
    expect(truncated_count).toBe(1);
  });

  it("always keeps what is reserved for the first", () => {
    const { items } = assembleContext([{ source: "diagnostics", content: lines(50), reserved: 500 }], 0);
    expect(items).toHaveLength(1);
  });

  it("never gives more than the budget, and says what it took", () => {
    const item = fc.record({ source: fc.string(), content: fc.string({ maxLength: 3000 }), reserved: fc.nat(500) });
    fc.assert(
      fc.property(fc.array(item, { maxLength: 6 }), fc.nat(2000), (gathered, budget) => {
        const { items, total_tokens, budget_utilization, truncated_count } = assembleContext(gathered, budget);
        expect(budget_utilization).toBe(budget === 0 ? 0 : total_tokens / budget);
        expect(truncated_count).toBe(gathered.length - items.filter(({ truncated }) => !truncated).length);
        expect(total_tokens).toBeLessThanOrEqual(Math.max(budget, gathered[0]?.reserved ?? 0));
        expect(total_tokens).toBe(items.reduce((sum, { content }) => sum + countText(content), 0));
      }),
    );
  });

  it("cuts in the middle, in whole lines", () => {
    const cut = cutToTokens(lines(300), 100);
    expect(cut).toMatch(/^line number 0\n[^]*\[… \d+ lines left out …\]\n[^]*line number 299$/u);
    expect(countText(cut)).toBeLessThanOrEqual(100);
    expect(cutToTokens(lines(300), 5)).toBe("");
  });

  it("keeps the beginning and the end of a text that is one long line", () => {
    const cut = cutToTokens(`begin${"x".repeat(10_000)}end`, 100);
    expect(cut).toMatch(/^beginx+\n\[… \d+ characters left out …\]\nx+end$/u);
    expect(countText(cut)).toBeLessThanOrEqual(100);
    expect(cutToTokens(`title\n${"x".repeat(10_000)}`, 100)).toMatch(/^title\nx{100,}\n\[/u);
  });

  it("cuts any text to its tokens, from its own beginning to its own end, and no character in half", () => {
    const text = fc
      .array(fc.oneof(fc.string({ unit: "binary", maxLength: 400 }), fc.constant("\n")))
      .map((parts) => parts.join(""));
    fc.assert(
      fc.property(text, fc.integer({ min: 13, max: 300 }), (whole, tokens) => {
        const cut = cutToTokens(whole, tokens);
        expect(countText(cut)).toBeLessThanOrEqual(tokens);
        expect(cut.isWellFormed()).toBe(true);
        const [head = "", tail = ""] = cut.split(/\n?\[… \d+ (?:lines|characters) left out …\]\n?/u);
        expect(whole.startsWith(head) && whole.endsWith(tail)).toBe(true);
      }),
    );
  });
});
