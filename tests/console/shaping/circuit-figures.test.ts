import { describe, expect, it } from "vitest";
import { connectionsOf } from "../../../console/pages/circuits/connections-layout.ts";
import { bestOf, quantity } from "../../../console/pages/circuits/figures.ts";
import { netAt } from "../../../console/pages/circuits/netlist-language.ts";
import {
  linearAxis,
  logAxis,
  panned,
  placeAt,
  rangeOf,
  valueAt,
  zoomed,
} from "../../../console/pages/circuits/curves/scales.ts";
import type { Goal, Iteration } from "../../../console/api/shaping/circuit-shapes.ts";

describe("a value with its unit", () => {
  it.each([
    [0, "V", "0 V"],
    [159.155, "Hz", "159.2 Hz"],
    [999.99, "Hz", "1 kHz"],
    [-2.5e-3, "A", "-2.5 mA"],
    [4.9e-16, "s", "0.49 fs"],
    [2e14, "Hz", "200 THz"],
    [-42.1234, "dB", "-42.12 dB"],
    [-1.5e-5, "dB", "0 dB"],
    [1500, "deg", "1500°"],
    [Number.NaN, "V", "–"],
  ])("%d %s is %s", (value, unit, text) => {
    expect(quantity(value, unit)).toBe(text);
  });
});

describe("an axis", () => {
  it("has marks at round values, also of negative and tiny ranges", () => {
    expect(linearAxis(-1, 1, 4).ticks).toEqual([-1, -0.5, 0, 0.5, 1]);
    expect(linearAxis(0, 1e-6, 5).ticks).toEqual([0, 2e-7, 4e-7, 6e-7, 8e-7, 1e-6]);
    expect(linearAxis(3, 3, 5).place(3)).toBe(0);
    expect(logAxis(1, 1e5, 10).ticks).toEqual([1, 10, 100, 1e3, 1e4, 1e5]);
    expect(logAxis(1, 1e9, 5).ticks.length).toBeLessThan(7);
    expect(logAxis(100, 1_000, 5).ticks).toEqual([100, 200, 500, 1_000]);
    expect(logAxis(10, 1_000, 3).place(100)).toBeCloseTo(0.5);
    expect(placeAt(0.5, [10, 1_000], true)).toBeCloseTo(100);
  });

  it("goes as far as the curves within what is shown", () => {
    const curve = { x: [0, 1, 2, 3], y: [0, 10, 1_000, Number.NaN] };
    expect(rangeOf([curve], [0, 1])).toEqual([-0.6, 10.6]);
    expect(rangeOf([curve], [5, 6])).toBeUndefined();
    expect(valueAt(curve.x, curve.y, 0.25)).toBe(2.5);
    expect(valueAt(curve.x, curve.y, -1)).toBe(0);
  });
});

it.each([
  [[2, 6], 0.5, 0.5, false, [3, 5]],
  [[2, 6], 0, 0.5, false, [2, 4]],
  [[2, 6], 0, 2, false, [2, 10]],
  [[4, 8], 0, 2, false, [2, 10]],
  [[2, 6], 0.5, 3, false, undefined],
  [[2, 2.001], 0, 0.001, false, [2, 2.001]],
  [[10, 1_000], 1, 0.5, true, [100, 1_000]],
] as const)(
  "what is shown of a scale, %j, zoomed around %d by %d, log: %s, is %j",
  (range, share, factor, isLog, shown) => {
    const found = zoomed(range, isLog ? [1, 10_000] : [0, 10], { share, factor, isLog });
    expect(found?.map((place) => Number(place.toFixed(6)))).toEqual(shown);
  },
);

it.each([
  [[2, 4], 0.5, false, [3, 5]],
  [[2, 4], 9, false, [8, 10]],
  [[2, 4], -9, false, [0, 2]],
  [[0, 10], 0.5, false, [0, 10]],
  [[10, 1_000], 0.5, true, [100, 10_000]],
  [[10, 1_000], -1, true, [1, 100]],
] as const)("what is shown of a scale, %j, moved by %d of it, log: %s, is %j", (range, share, isLog, moved) => {
  const whole = isLog ? ([1, 1e5] as const) : ([0, 10] as const);
  const [from, to] = panned(range, whole, share, isLog);
  expect([from, to]).toEqual(moved.map((end) => expect.closeTo(end)));
});

it("a place of a netlist names a net where a part has it as a node", () => {
  const text = "Out of in\nR1 in OUT 1k\n.print v(out)\n";
  const parts = [
    { name: "R1", kind: "R", nodes: ["in", "out"], value: "1k", line: 2, subcircuit: null },
    { name: "R2", kind: "R", nodes: ["of"], value: "1k", line: 9, subcircuit: null },
  ];
  const at = (words: string, more = 0): string | undefined => netAt(text, text.indexOf(words) + more, { parts });
  expect([at("in OUT"), at("OUT 1k"), at("OUT 1k", 3), at("R1"), at("1k"), at("Out of", 4), at("out)")]).toEqual([
    "in",
    "out",
    "out",
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

const goal = (state: Goal["state"], value: number | null, gap: number | null): Goal => ({
  metric: "gain",
  target: 10,
  way: "at_least",
  unit: "dB",
  state,
  value,
  gap,
  figure_unit: "dB",
});
const simulation = (iteration_id: string, goals: Goal[], status: Iteration["status"] = "done"): Iteration => ({
  iteration_id,
  thread_id: "",
  run_id: null,
  call_id: "",
  at: "",
  status,
  message: null,
  metrics: {},
  units: {},
  goals,
  notes: [],
  netlist: null,
  is_kept: true,
});

it("the best simulation reaches most goals, misses the others by least, and is the newest of its like", () => {
  const reached = goal("reached", 10, 0);
  const near = simulation("near", [reached, goal("missed", 9, -1)]);
  const far = simulation("far", [reached, goal("missed", 1, -9)]);
  const again = simulation("again", [reached, goal("missed", 9, -1)]);
  expect(bestOf([far, again, near])).toEqual({ iteration: again, name: "best" });
  expect(bestOf([simulation("failed", [reached, reached], "failed"), far])?.iteration).toBe(far);
  expect(bestOf([simulation("none", [])])).toBeUndefined();
  // What reaches no goal is only the closest, and what measured none is neither.
  const [missed, further] = [-1, -9].map((gap) => simulation(String(gap), [goal("missed", 10 + gap, gap)]));
  expect(bestOf([further, missed].flatMap((one) => one ?? []))).toEqual({ iteration: missed, name: "closest" });
  expect(bestOf([simulation("unknown", [goal("unknown", null, null)])])).toBeUndefined();
});

it("a drawing has each part and net once, ground as a mark, and nothing of what is inside a sub-circuit", () => {
  const part = (name: string, nodes: string[], subcircuit: string | null = null) => ({
    name,
    kind: name.charAt(0),
    nodes,
    value: "1k",
    line: 1,
    subcircuit,
  });
  const { places, pins, width } = connectionsOf({
    parts: [part("V1", ["in", "0"]), part("R1", ["in", "out"]), part("C1", ["out", "0"]), part("R2", ["a", "b"], "s")],
  });
  expect(places.map(({ kind, name, isGrounded }) => [kind, name, isGrounded])).toEqual([
    ["net", "in", false],
    ["net", "out", false],
    ["part", "V1", true],
    ["part", "R1", false],
    ["part", "C1", true],
  ]);
  expect(pins.map(({ part: one, net }) => `${one} ${net}`)).toEqual(["V1 in", "R1 in", "R1 out", "C1 out"]);
  expect(width).toBeGreaterThan(100);
});
