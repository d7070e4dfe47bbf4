import { afterAll, describe, expect, it } from "vitest";
import { readAnalysis } from "../../simulation/deck/analysis.ts";
import { prepareDeck, type Deck } from "../../simulation/deck/deck.ts";
import { createEngine, type AnalysisResult, type Engine } from "../../simulation/embedded-engine.ts";

const engine = createEngine();
afterAll(async () => await engine.close());

const signal = new AbortController().signal;
const deckOf = async (...lines: string[]): Promise<Deck> =>
  await prepareDeck("deck.cir", async () => ["A circuit", ...lines, ".end"].join("\n"));

async function run(card: string, lines: string[], by: Engine = engine): Promise<AnalysisResult> {
  return await by.run(await deckOf(...lines), readAnalysis(card, "test"), signal);
}

const lowPass = ["V1 in 0 dc 1 ac 1 pulse(0 1 0 1n 1n 10m 20m)", "R1 in out 1k", "C1 out 0 1u"];
const endless = ["V1 in 0 pulse(0 1 0 1p 1p 1n 2n)", "R1 in out 1k", "C1 out 0 1n"];
const values = ({ plot }: AnalysisResult, name: string): number[] => [
  ...(plot.vectors.find((vector) => vector.name === name)?.real ?? []),
];

describe("analyses", () => {
  it("finds the operating point", async () => {
    expect(values(await run(".op", ["V1 in 0 10", "R1 in out 1k", "R2 out 0 3k"]), "v(out)")).toEqual([7.5]);
  });

  it("sweeps a source", async () => {
    const result = await run(".dc V1 0 4 1", ["V1 in 0 0", "R1 in out 1k", "R2 out 0 1k"]);
    expect(values(result, "v(out)")).toEqual([0, 0.5, 1, 1.5, 2]);
  });

  it("sweeps the frequency, in complex values", async () => {
    const { plot } = await run(".ac dec 10 1 1meg", lowPass);
    expect(plot.points).toBe(61);
    const out = plot.vectors.find(({ name }) => name === "v(out)");
    const at = [...(plot.vectors[0]?.real ?? [])].findIndex((frequency) => frequency > 99.9 && frequency < 100.1);
    const omega = 2 * Math.PI * 100 * 1e-3;
    expect(out?.real[at]).toBeCloseTo(1 / (1 + omega ** 2), 6);
    expect(out?.imaginary?.[at]).toBeCloseTo(-omega / (1 + omega ** 2), 6);
  });

  it("runs through time", async () => {
    const result = await run(".tran 10u 5m", lowPass);
    expect(values(result, "v(out)").at(-1)).toBeCloseTo(1 - Math.exp(-5), 3);
  });

  it("finds the noise of a resistor", async () => {
    const result = await run(".noise v(out) V1 dec 1 1 10", ["V1 in 0 dc 0 ac 1", "R1 in out 1k", "R2 out 0 1meg"]);
    expect(values(result, "onoise_spectrum")[0]).toBeCloseTo(Math.sqrt(4 * 1.380649e-23 * 300.15 * 999), 11);
  });

  it("gives the figures that the circuit asks for", async () => {
    const result = await run(".ac dec 100 1 1meg", [...lowPass, ".meas ac corner when vdb(out)=-3.0103"]);
    expect(result.measured).toEqual({ corner: expect.closeTo(159.155, 2) });
  });
});

describe("what cannot be simulated", () => {
  it.each([
    ["a missing model", ["V1 in 0 1", "D1 in 0 unknown"], "invalid_parameter", "A model is missing", "deck.cir:3"],
    ["a missing sub-circuit", ["V1 in 0 1", "X1 in 0 unknown"], "invalid_parameter", "sub-circuit", "X1"],
    ["a loop of sources", ["V1 a 0 1", "V2 a 0 2"], "execution_failed", "did not converge", "singular"],
    ["a name without a value", ["V1 a 0 1", "R1 a 0 {missing}"], "invalid_parameter", "cannot be computed", "missing"],
    ["an element without a node", ["V1 a 0 1", "R1 a"], "invalid_parameter", "could not be read", "deck.cir:3"],
  ])("%s is reported with its place and a suggestion", async (_, lines, code, what, where) => {
    await expect(run(".op", lines)).rejects.toMatchObject({ code, suggestion: expect.stringMatching(/\w{3}/u) });
    await expect(run(".op", lines)).rejects.toThrow(what);
    await expect(run(".op", lines)).rejects.toThrow(where);
  });

  it("is never answered with the result of the circuit before it", async () => {
    await run(".op", lowPass);
    await expect(run(".op", ["X1 in 0 unknown", "V1 in 0 1", "R1 in out 1k", "R2 out 0 1k"])).rejects.toThrow(
      "sub-circuit",
    );
    expect(values(await run(".op", ["V1 in 0 2", "R1 in 0 1"]), "v(in)")).toEqual([2]);
  });
});

describe("limits", () => {
  it("ends what takes too long, and goes on with the next", async () => {
    const short = createEngine({ seconds: 2, threads: 1 });
    try {
      await expect(run(".tran 1n 400u", endless, short)).rejects.toMatchObject({ code: "timeout" });
      expect(values(await run(".op", ["V1 in 0 3", "R1 in 0 1"], short), "v(in)")).toEqual([3]);
    } finally {
      await short.close();
    }
  });

  it("ends what takes too much memory", async () => {
    // Such a card is refused before it runs; the simulator itself makes room for all its points at once.
    const card = { type: "tran", card: ".tran 1n 100m" } as const;
    await expect(engine.run(await deckOf(...lowPass), card, signal)).rejects.toMatchObject({ code: "too_large" });
  });

  it("ends with a stop, within half a second", async () => {
    const stop = new AbortController();
    await run(".op", lowPass);
    const running = engine.run(await deckOf(...endless), readAnalysis(".tran 1n 400u", "test"), stop.signal);
    // The thread is at work by now: its loop cannot be interrupted, only ended.
    const begun = Promise.withResolvers<number>();
    setImmediate(() => begun.resolve(performance.now()));
    const from = await begun.promise;
    stop.abort(new Error("stopped"));
    await expect(running).rejects.toThrow("stopped");
    expect(performance.now() - from).toBeLessThan(500);
  });

  it("lets those that wait for a thread stop waiting", async () => {
    const single = createEngine({ threads: 1 });
    const stop = new AbortController();
    try {
      const first = run(".op", lowPass, single);
      const second = single.run(await deckOf(...lowPass), readAnalysis(".op", "test"), stop.signal);
      stop.abort(new Error("stopped"));
      await expect(second).rejects.toThrow("stopped");
      expect((await first).plot.points).toBe(1);
    } finally {
      await single.close();
    }
  });
});

it("leaves nothing of a circuit for the next one", async () => {
  const plain = createEngine();
  try {
    const diode = ["V1 in 0 1", "R1 in out 1k", "D1 out 0 dd", ".model dd D(is=1e-14)"];
    const alone = values(await run(".op", diode, plain), "v(out)");
    await run(".op", [".options temp=125 reltol=0.1 gmin=1e-3", ".param p=5", ".global out", ...lowPass]);
    await run(".op", [".model dd D(is=1e-3)", ".temp 100", "V1 in 0 1", "D1 in 0 dd"]);
    expect(values(await run(".op", diode), "v(out)")).toEqual(alone);
  } finally {
    await plain.close();
  }
});
