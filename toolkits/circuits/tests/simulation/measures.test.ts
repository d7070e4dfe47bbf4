import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Curve } from "../../simulation/plot/curve.ts";
import { prepareDeck } from "../../simulation/deck/deck.ts";
import { createEngine } from "../../simulation/embedded-engine.ts";
import { band } from "../../simulation/measures/bandwidth.ts";
import { distortion } from "../../simulation/measures/distortion.ts";
import { gain } from "../../simulation/measures/gain.ts";
import { gainMargin, phaseMargin } from "../../simulation/measures/phase-margin.ts";
import { slewRate } from "../../simulation/measures/slew-rate.ts";
import { overshoot, riseTime, stepOf } from "../../simulation/measures/step.ts";
import { unityGain } from "../../simulation/measures/unity-gain.ts";
import { responseOf, type Response } from "../../simulation/response.ts";
import { simulate, type MeasureSetup } from "../../simulation/simulate.ts";
import { projectFolder } from "../../../../tests/support/source-files.ts";

const engine = createEngine();
afterAll(async () => await engine.close());

const sample = (name: string): string => readFileSync(join(projectFolder, "samples/circuits", name), "utf8");

async function figures(text: string, setup: MeasureSetup = {}): Promise<Record<string, number>> {
  const deck = await prepareDeck("deck.cir", async () => text);
  const { measures } = await simulate(deck, deck.analyses, setup, { engine, signal: AbortSignal.timeout(60_000) });
  return Object.fromEntries(measures.map(({ name, value }) => [name, value]));
}

/** The relative difference, for a matcher. */
const off = (value: number | undefined, expected: number): number => Math.abs((value ?? Number.NaN) / expected - 1);

/** A response by its formula, twenty points a decade. */
function responseTo(
  transfer: (s: { re: number; im: number }) => { re: number; im: number },
  from = 1,
  to = 1e9,
): Response {
  const points = Math.round(Math.log10(to / from) * 50) + 1;
  const x = Float64Array.from({ length: points }, (_, index) => from * 10 ** (index / 50));
  const values = Array.from(x, (frequency) => transfer({ re: 0, im: 2 * Math.PI * frequency }));
  const vector = { name: "v(out)", kind: "voltage", real: Float64Array.from(values, ({ re }) => re) };
  const plot = {
    title: "",
    name: "",
    points,
    vectors: [
      { name: "frequency", kind: "frequency", real: x },
      { ...vector, imaginary: Float64Array.from(values, ({ im }) => im) },
    ],
  };
  const response = responseOf(plot, "out", null);
  if (response === undefined) throw new Error("no response");
  return response;
}

/** `top` over a product of (1 + s / pole), in radians. */
const withPoles =
  (top: number, ...poles: number[]) =>
  ({ im }: { im: number }): { re: number; im: number } => {
    const below = poles.reduce(
      (value, pole) => ({ re: value.re - (value.im * im) / pole, im: value.im + (value.re * im) / pole }),
      { re: 1, im: 0 },
    );
    const size = below.re ** 2 + below.im ** 2;
    return { re: (top * below.re) / size, im: (-top * below.im) / size };
  };

const sampled = (to: number, points: number, value: (time: number) => number): Curve => {
  const x = Float64Array.from({ length: points + 1 }, (_, index) => (to * index) / points);
  return { x, y: x.map(value) };
};

describe("measures of known curves", () => {
  const amplifier = responseTo(withPoles(1000, 2 * Math.PI * 1e3, 2 * Math.PI * 1e6));

  it("gain: 60 dB", () => expect(gain(amplifier)).toBeCloseTo(60, 4));

  it("bandwidth: the first pole", () => {
    expect(off(band(responseTo(withPoles(10, 2 * Math.PI * 1e4))).bandwidth, 1e4)).toBeLessThan(0.005);
  });

  it("unity-gain frequency: where |H| is one", () => {
    // 1000 = sqrt(1 + f²/1e6) · sqrt(1 + f²/1e12), solved for f.
    expect(off(unityGain(amplifier), 786_151)).toBeLessThan(0.005);
  });

  it("phase margin: 180° less the phases of both poles, also of an inverting amplifier", () => {
    const expected = 180 - ((Math.atan(786.151) + Math.atan(0.786151)) * 180) / Math.PI;
    expect(off(phaseMargin(amplifier), expected)).toBeLessThan(0.005);
    const inverting = responseTo(withPoles(-1000, 2 * Math.PI * 1e3, 2 * Math.PI * 1e6));
    expect(off(phaseMargin(inverting), expected)).toBeLessThan(0.005);
  });

  it("gain margin: of three equal poles, 8 over the gain", () => {
    expect(gainMargin(responseTo(withPoles(2, 1e4, 1e4, 1e4)))).toBeCloseTo(20 * Math.log10(8 / 2), 1);
  });

  it("rise time: 2.197 time constants", () => {
    const step = stepOf(
      sampled(20, 20_000, (time) => 1 - Math.exp(-time)),
      0,
      20,
    );
    expect(off(step && riseTime(step), Math.log(9))).toBeLessThan(0.005);
  });

  it("overshoot: of a damping of 0.5, 16.3 %", () => {
    const decay = (time: number): number =>
      1 - (Math.exp(-time / 2) * Math.sin((Math.sqrt(3) / 2) * time + Math.PI / 3)) / (Math.sqrt(3) / 2);
    const step = stepOf(sampled(40, 40_000, decay), 0, 40);
    expect(off(step && overshoot(step), 100 * Math.exp(-Math.PI / Math.sqrt(3)))).toBeLessThan(0.005);
  });

  it("slew rate: of a ramp, its slope, up and down", () => {
    for (const sign of [1, -1]) {
      const ramp = stepOf(
        sampled(10e-6, 1000, (time) => sign * Math.min(5, time * 1e6)),
        0,
        10e-6,
      );
      expect(off(ramp && slewRate(ramp), 1)).toBeLessThan(0.005);
    }
  });

  it("distortion: of 3 % and 4 % of two harmonics, 5 %", () => {
    const wave = sampled(5e-3, 20_000, (time) => {
      const angle = 2 * Math.PI * 1000 * time;
      return 0.2 + Math.sin(angle) + 0.03 * Math.sin(2 * angle) + 0.04 * Math.cos(3 * angle);
    });
    expect(off(distortion(wave, 1000), 5)).toBeLessThan(0.005);
    expect(distortion(wave, 100)).toBeUndefined();
  });
});

describe("measures of circuits that can be worked out by hand", () => {
  it("the cut-off of the RC low-pass is 1 / (2 pi R C), its rise time 2.197 R C", async () => {
    const found = await figures(sample("rc-low-pass.cir"));
    expect(off(found["bandwidth"], 1 / (2 * Math.PI * 1e3 * 1e-6))).toBeLessThan(0.005);
    expect(off(found["rise_time"], Math.log(9) * 1e-3)).toBeLessThan(0.005);
  });

  it("the RLC band-pass has its centre at 1 / (2 pi sqrt(L C)), and Q = sqrt(L / C) / R", async () => {
    const found = await figures(sample("rlc-band-pass.cir"));
    const [centre, quality] = [1 / (2 * Math.PI * Math.sqrt(10e-3 * 100e-9)), Math.sqrt(10e-3 / 100e-9) / 100];
    expect(off(found["center_frequency"], centre)).toBeLessThan(0.005);
    expect(off(found["quality_factor"], quality)).toBeLessThan(0.005);
    expect(off(found["bandwidth"], centre / quality)).toBeLessThan(0.005);
  });

  it("a divider takes V²/R from its supply", async () => {
    expect((await figures("T\nV1 in 0 10\nR1 in out 1k\nR2 out 0 1k\n.op\n"))["power"]).toBeCloseTo(0.05, 9);
  });

  it("the noise of an RC low-pass is sqrt(k T / C)", async () => {
    const found = await figures("T\nV1 in 0 dc 0 ac 1\nR1 in out 1k\nC1 out 0 1n\n.noise v(out) V1 dec 50 1 1g\n");
    expect(off(found["output_noise"], Math.sqrt((1.380649e-23 * 300.15) / 1e-9))).toBeLessThan(0.005);
  });

  it("CMRR and PSRR of an ideal amplifier with known leaks", async () => {
    // out = 1000 (p - n) + 0.5 (p + n) / 2 + 0.1 vdd: the common gain is 0.5, that of the supply 0.1.
    const lines = [
      "Vp p 0 dc 0 ac 1",
      "Vn n 0 0",
      "Vdd vdd 0 5",
      "E1 a 0 p n 1000",
      "B1 out 0 v=v(a)+0.25*(v(p)+v(n))+0.1*v(vdd)",
      "R1 out 0 1k",
    ];
    const found = await figures(["T", ...lines, ".ac dec 5 1 1k"].join("\n"), { negative_input: "vn", supply: "Vdd" });
    expect(found["cmrr"]).toBeCloseTo(20 * Math.log10(1000 / 0.5), 1);
    expect(found["psrr"]).toBeCloseTo(20 * Math.log10(1000 / 0.1), 1);
  });
});

/** The same deck with its analyses and figures as commands: in its batch mode the program keeps no values for cards. */
function asCommands(text: string): string {
  const isCard = (line: string): boolean => /^\.(?:op|ac|tran|meas|end)\b/u.test(line);
  const cards = text.split("\n").filter(isCard);
  const commands = ["ac", "tran"].flatMap((type) => [
    ...cards.filter((line) => line.startsWith(`.${type} `)),
    ...cards.filter((line) => line.startsWith(`.meas ${type} `)),
  ]);
  const circuit = text.split("\n").filter((line) => !isCard(line));
  return [...circuit, ".control", ...commands.map((line) => line.slice(1)), ".endc", ".end", ""].join("\n");
}

const measuredCircuits = [
  { name: "the op-amp stage", file: "op-amp-stage.cir", step: false },
  { name: "the CMOS amplifier", file: "cmos-amplifier.cir", step: true },
];

describe.each(measuredCircuits)("figures of $name against ngspice's own .meas", ({ file, step }) => {
  let ours: Record<string, number>;
  let text: string;

  beforeAll(async () => {
    ours = await figures(sample(file));
    const level = (ours["gain"] ?? Number.NaN) - 10 * Math.log10(2);
    const meas = [
      ".meas ac m_gain max vdb(out)",
      `.meas ac m_bandwidth when vdb(out)=${level} fall=1`,
      ".meas ac m_unity when vdb(out)=0 fall=1",
      ".meas ac m_phase find vp(out) when vdb(out)=0 fall=1",
      ...(step ? [".meas tran m_before find v(out) at=100n", ".meas tran m_after find v(out) at=2u"] : []),
    ];
    text = sample(file).replace(/^\.end$/mu, [...meas, ".end"].join("\n"));
    if (!step) return;
    const levels = await figures(text);
    const [before = 0, after = 0] = [levels["m_before"], levels["m_after"]];
    const at = (share: number): number => before + share * (after - before);
    const edges = [`.meas tran m_rise trig v(out) val=${at(0.1)} rise=1 targ v(out) val=${at(0.9)} rise=1`];
    text = text.replace(/^\.end$/mu, [...edges, ".end"].join("\n"));
  });

  /** What is further from theirs than half a percent. */
  function different(theirs: Record<string, number>): unknown[] {
    // Their phase is in radians, between -pi and pi; an inverting stage begins at pi.
    const phase = ((theirs["m_phase"] ?? Number.NaN) * 180) / Math.PI;
    const pairs: [name: string, theirs: number | undefined][] = [
      ["gain", theirs["m_gain"]],
      ["bandwidth", theirs["m_bandwidth"]],
      ["unity_gain_frequency", theirs["m_unity"]],
      ["phase_margin", step ? 180 + phase : phase],
      ...(step ? ([["rise_time", theirs["m_rise"]]] satisfies [string, number | undefined][]) : []),
    ];
    return pairs
      .map(([name, value = Number.NaN]) => ({ name, ours: ours[name], theirs: value }))
      .filter((pair) => !(off(pair.ours, pair.theirs) < 0.005));
  }

  it("in WebAssembly, within 0.5 %", async () => {
    expect(different(await figures(text))).toEqual([]);
  });

  it.skipIf(spawnSync("ngspice", ["-v"]).error !== undefined)("by the native program, within 0.5 %", () => {
    const folder = mkdtempSync(join(tmpdir(), "millrace-meas-"));
    try {
      writeFileSync(join(folder, "deck.cir"), asCommands(text));
      // Its exit code says nothing about the figures.
      const { stdout: output } = spawnSync("ngspice", ["-n", "-b", "deck.cir"], {
        cwd: folder,
        encoding: "utf8",
        timeout: 30_000,
      });
      const found = [...output.matchAll(/^(m_\w+)\s*=\s*(\S+)/gmu)].map(([, name = "", value]) => [
        name,
        Number(value),
      ]);
      expect(different(Object.fromEntries(found))).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
