import { mkdtemp, realpath, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { CircuitPlace } from "../collectors/circuit-place.ts";
import { diagnostics } from "../collectors/diagnostics.ts";
import { createFailureHistory } from "../netlist/failure-history.ts";
import { createFaultCache } from "../netlist/fault-cache.ts";
import { netlistWarnings } from "../netlist/netlist-warnings.ts";

const messagesOf = (lines: readonly string[]): string[] =>
  netlistWarnings(lines.join("\n")).map(({ line, message }) => `${line} ${message.replace("warning: ", "")}`);

describe("a warning about a circuit (CIRC-04)", () => {
  it.each([
    [["t", "V1 in 0 1", "R1 in out 1k"], ["3 only one element is connected to the node out"]],
    [["t", "V1 in 0 1", "R1 in", "+ out 1k", "Q1 in out x npn"], ["5 only one element is connected to the node x"]],
    [
      ["t", "V1 a GND 1", "X1 a b amp gain=2", "R1 b 0 1", ".subckt amp i o", "R2 i m 1", ".ends"],
      ["6 only one element is connected to the node m"],
    ],
    [
      ["t", "R1 a 0 1", "C1 a 0 1", ".subckt amp i o", "R2 i o 1", ".ends"],
      ["4 the sub-circuit amp is not used in this file"],
    ],
  ])("is given for %o", (lines, expected) => {
    expect(messagesOf(lines)).toEqual(expected);
  });

  it.each([
    ["a sound circuit", ["t", "V1 in 0 1", "M1 out in 0 0 nmos W=1u", "R1 in out 1k ; load", ".end", "R9 x y 1"]],
    ["a node that another element measures", ["t", "R1 a 0 1", "V1 a 0 1", "C1 a m 1", "B1 a 0 V=V(m)*2"]],
    ["a file that others are included into", ["t", ".include 'x.inc'", "R1 a out 1k"]],
    ["a node that is the same everywhere", ["t", ".global vdd", "R1 vdd 0 1"]],
    ["a node in a formula", ["t", "R1 a 0 1", "C1 a m 1", "E1 a 0 POLY(1) m 0 0.5 2"]],
    ["a library", ["t", ".subckt amp i o", "R2 i o 1", ".ends"]],
    ["commands", ["t", "R1 a 0 1", "C1 a 0 1", ".control", "run", "plot v(out)", ".endc", "* Rx y z 1"]],
    ["elements whose shape is not known", ["t", "K1 L1 L2 0.9", "A1 [a b] c gate"]],
  ])("is not given for %s", (_, lines) => {
    expect(messagesOf(lines)).toEqual([]);
  });
});

describe("what was found in a file (CIRC-05)", () => {
  it("is remembered until the file changes, for the hundred files used last", () => {
    const cache = createFaultCache<number>();
    let checks = 0;
    const check = (path: string, modified: number): number => cache.get(path, modified, () => (checks += 1));
    expect([check("a", 1), check("a", 1), check("a", 2), check("a", 2)]).toEqual([1, 1, 2, 2]);
    for (let file = 0; file < 99; file += 1) check(`${file}`, 1);
    expect([check("a", 2), checks]).toEqual([2, 101]);
    check("new", 1);
    expect([check("a", 2), check("0", 1)]).toEqual([2, 103]);
  });
});

describe("the failures of a circuit (CIRC-05)", () => {
  it("are the last ten, each once, cut to 200 characters, until it succeeds", () => {
    const history = createFailureHistory();
    for (let turn = 0; turn < 12; turn += 1) history.add("a", `${turn} ${"x".repeat(300)}`, turn);
    history.add("a", `11 ${"x".repeat(300)}`, 99);
    history.add("b", "other", 1);
    expect(history.of("a").map(({ at }) => at)).toEqual([11, 10, 9, 8, 7, 6, 5, 4, 3, 2]);
    expect(history.of("a").every(({ message }) => message.length === 200)).toBe(true);
    history.clear("a");
    expect([history.of("a"), history.of("b").length]).toEqual([[], 1]);
  });

  it("are forgotten of the circuit that was longest without one, beyond 500 circuits", () => {
    const history = createFailureHistory();
    for (let circuit = 0; circuit < 500; circuit += 1) history.add(`${circuit}`, "no", 1);
    history.add("0", "again", 2);
    history.add("new", "no", 3);
    expect([history.of("0").length, history.of("1").length, history.of("new").length]).toEqual([2, 0, 1]);
  });
});

describe("the collector of diagnostics", () => {
  let where: CircuitPlace;
  const { signal } = new AbortController();
  const collect = (more: Partial<CircuitPlace> = {}): Promise<string | null> =>
    diagnostics.collect({ ...where, ...more }, signal, (reason) => expect.unreachable(reason));
  beforeEach(async () => {
    const workspace = await realpath(await mkdtemp(join(tmpdir(), "millrace-diagnostics-")));
    const nothing = { sim_result: null, design_goals: null, error: null, metrics: null };
    where = { workspace, session: "one", circuit_file: "a.cir", now: 0, ...nothing };
    await writeFile(join(workspace, "a.cir"), "t\nV1 a 0 1\nR1 a 0 1k\n");
  });
  afterEach(() => rm(where.workspace, { recursive: true, force: true }));

  it("shows the three failures before the last, in their session, until a simulation succeeds", async () => {
    for (const turn of [0, 1, 2, 3, 4, 4]) await collect({ error: `failure ${turn}`, now: turn * 60_000 });
    const now = 10 * 60_000;
    expect(await collect({ error: "failure 4", now })).toBe(
      [
        "Simulation: failure 4",
        "Failed before, 7 minutes ago: failure 3",
        "Failed before, 8 minutes ago: failure 2",
        "Failed before, 9 minutes ago: failure 1",
      ].join("\n"),
    );
    expect((await collect({ now }))?.split("\n")[0]).toBe("Failed before, 6 minutes ago: failure 4");
    expect(await collect({ session: "two", now })).toBeNull();
    expect(await collect({ metrics: { gain: 1 }, now })).toBeNull();
    expect(await collect({ now })).toBeNull();
  });

  it("lists errors before warnings, and checks a changed file again", async () => {
    const path = join(where.workspace, "a.cir");
    await writeFile(path, "t\nR1 a out 1k\n.ends\n");
    await utimes(path, 1, 1);
    const messages = (await collect())?.split("\n").filter((line) => line.startsWith("a.cir:"));
    expect(messages).toEqual([
      "a.cir:3: .ends without a .subckt before it",
      "a.cir:2: warning: only one element is connected to the node a",
      "a.cir:2: warning: only one element is connected to the node out",
    ]);
    await writeFile(path, "t\nR1 a 0 1k\nV1 a 0 1\n");
    await utimes(path, 2, 2);
    expect(await collect()).toBeNull();
  });
});
