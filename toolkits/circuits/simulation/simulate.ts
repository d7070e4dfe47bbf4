import type { Analysis } from "./deck/analysis.ts";
import { curveOf, responseOf, vectorOf, type Response } from "./response.ts";
import type { Deck } from "./deck/deck.ts";
import type { AnalysisResult, Engine } from "./embedded-engine.ts";
import { band } from "./measures/bandwidth.ts";
import { distortion } from "./measures/distortion.ts";
import { gain, peakGain } from "./measures/gain.ts";
import { measured, type Measure } from "./measures/measure.ts";
import { noise } from "./measures/noise.ts";
import { gainMargin, phaseMargin } from "./measures/phase-margin.ts";
import { power } from "./measures/power.ts";
import { rejection } from "./measures/rejection.ts";
import { slewRate } from "./measures/slew-rate.ts";
import { overshoot, riseTime, stepOf } from "./measures/step.ts";
import { unityGain } from "./measures/unity-gain.ts";
import type { Plot } from "./raw-file.ts";
import { sourcesOf, withSignals, type Source } from "./deck/sources.ts";

/** The nodes and sources to measure, if their names do not show them. */
export interface MeasureSetup {
  /** The node of the output; else `out`, `vout`, `output` or `vo`. */
  output?: string | undefined;
  /** The source of the input; else the one with a signal. */
  input?: string | undefined;
  /** The source of the inverting input, for the common-mode rejection. */
  negative_input?: string | undefined;
  /** The source of the supply, for the power supply rejection. */
  supply?: string | undefined;
}

/** The results of a simulation: values per analysis, and figures. */
export interface Simulated {
  analyses: { analysis: Analysis; plot: Plot }[];
  measures: Measure[];
  output: string | null;
  input: string | null;
  notes: string[];
}

const outputNames = ["out", "vout", "output", "vo"];

/** Runs the analyses in sequence and measures. Throws what `Engine.run` throws; partial results are dropped. */
export async function simulate(
  deck: Deck,
  analyses: readonly Analysis[],
  setup: MeasureSetup,
  { engine, signal }: { engine: Engine; signal: AbortSignal },
): Promise<Simulated> {
  const sources = sourcesOf(deck);
  const input = inputOf(sources, setup.input);
  const results: { analysis: Analysis; result: AnalysisResult }[] = [];
  for (const analysis of analyses) results.push({ analysis, result: await engine.run(deck, analysis, signal) });
  const output = outputOf(
    results.map(({ result }) => result.plot),
    setup.output,
  );
  const found = results.flatMap(({ analysis, result }) => {
    const { plot, measured: own } = result;
    const ours = measuresOf(analysis, plot, { sources, input, output });
    return [...ours, ...Object.entries(own).map(([name, value]) => ({ name, value, unit: "" }))];
  });
  const ac = analyses.find(({ type }) => type === "ac");
  if (ac !== undefined && output !== null && input !== undefined) {
    found.push(...(await rejections(deck, ac, { output, input, setup, engine, signal })));
  }
  return {
    analyses: results.map(({ analysis, result }) => ({ analysis, plot: result.plot })),
    measures: once(found),
    output,
    input: input?.name ?? null,
    notes: [...new Set(results.flatMap(({ result }) => result.warnings)), ...missingNotes(output, input, analyses)],
  };
}

interface Known {
  sources: readonly Source[];
  input: Source | undefined;
  output: string | null;
}

function measuresOf({ type }: Analysis, plot: Plot, known: Known): Measure[] {
  switch (type) {
    case "op":
      return measured("power", power(plot, known.sources), "W");
    case "ac":
      return known.output === null ? [] : ofFrequency(responseOf(plot, known.output, inputNode(known.input)));
    case "tran":
      return ofTime(plot, known);
    case "noise":
      return [
        ...measured("output_noise", noise(plot, "onoise_spectrum"), "V"),
        ...measured("input_noise", noise(plot, "inoise_spectrum"), "V"),
      ];
    case "dc":
      return ofSweep(plot, known.output);
  }
}

function ofFrequency(response: Response | undefined): Measure[] {
  if (response === undefined) return [];
  const { lower, bandwidth, center, quality } = band(response);
  return [
    ...measured("gain", center === undefined ? gain(response) : peakGain(response), "dB"),
    ...measured("bandwidth", bandwidth, "Hz"),
    ...measured("lower_cutoff", lower, "Hz"),
    // For a band wider than its centre frequency, neither is meaningful.
    ...(quality !== undefined && quality >= 0.5 ? measured("center_frequency", center, "Hz") : []),
    ...(quality !== undefined && quality >= 0.5 ? measured("quality_factor", quality, "") : []),
    ...measured("unity_gain_frequency", unityGain(response), "Hz"),
    ...measured("phase_margin", phaseMargin(response), "deg"),
    ...measured("gain_margin", gainMargin(response), "dB"),
  ];
}

function ofTime(plot: Plot, { input, output }: Known): Measure[] {
  const curve = output === null ? undefined : curveOf(plot, output);
  if (curve === undefined) return [];
  const last = curve.x[curve.x.length - 1] ?? 0;
  const step = input?.step ? stepOf(curve, input.step.from, Math.min(input.step.to, last)) : undefined;
  const sine = input?.frequency ?? undefined;
  return [
    ...(step === undefined
      ? []
      : [
          ...measured("rise_time", riseTime(step), "s"),
          ...measured("overshoot", overshoot(step), "%"),
          ...measured("slew_rate", slewRate(step), "V/us"),
        ]),
    ...(sine === undefined || sine === 0 ? [] : measured("thd", distortion(curve, sine), "%")),
  ];
}

function ofSweep(plot: Plot, output: string | null): Measure[] {
  const values = output === null ? undefined : vectorOf(plot, output)?.real;
  if (values === undefined) return [];
  const [low, high] = [
    values.reduce((a, b) => Math.min(a, b), Infinity),
    values.reduce((a, b) => Math.max(a, b), -Infinity),
  ];
  return [...measured("output_min", low, "V"), ...measured("output_max", high, "V")];
}

/** CMRR and PSRR: the same analysis with the signal on both inputs, and on the supply. */
async function rejections(
  deck: Deck,
  ac: Analysis,
  given: { output: string; input: Source; setup: MeasureSetup; engine: Engine; signal: AbortSignal },
): Promise<Measure[]> {
  const { output, input, setup, engine, signal } = given;
  const [negative, supply] = [setup.negative_input?.toLowerCase(), setup.supply?.toLowerCase()];
  const response = async (sizes: Record<string, number>): Promise<Response | undefined> =>
    responseOf((await engine.run(withSignals(deck, sizes), ac, signal)).plot, output, null);
  const wanted = await (negative === undefined && supply === undefined
    ? undefined
    : response(negative === undefined ? { [input.name]: 1 } : { [input.name]: 0.5, [negative]: -0.5 }));
  if (wanted === undefined) return [];
  const common = negative === undefined ? undefined : await response({ [input.name]: 1, [negative]: 1 });
  const onSupply = supply === undefined ? undefined : await response({ [supply]: 1 });
  return [
    ...measured("cmrr", common && rejection(wanted, common), "dB"),
    ...measured("psrr", onSupply && rejection(wanted, onSupply), "dB"),
  ];
}

function inputOf(sources: readonly Source[], named: string | undefined): Source | undefined {
  if (named !== undefined) return sources.find(({ name }) => name === named.toLowerCase());
  return (
    sources.find(({ ac }) => ac !== 0) ??
    sources.find(({ step, frequency }) => step !== null || frequency !== null) ??
    sources.find(({ name }) => /^v?in/u.test(name))
  );
}

function inputNode(input: Source | undefined): string | null {
  return input?.kind === "voltage" && (input.minus === "0" || input.minus === "gnd") ? input.plus : null;
}

function outputOf(plots: readonly Plot[], named: string | undefined): string | null {
  const node = named?.toLowerCase().replace(/^v\((.*)\)$/u, "$1");
  const candidates = node === undefined ? outputNames : [node];
  return candidates.find((name) => plots.some((plot) => vectorOf(plot, name) !== undefined)) ?? null;
}

function missingNotes(output: string | null, input: Source | undefined, analyses: readonly Analysis[]): string[] {
  if (analyses.every(({ type }) => type === "op" || type === "noise")) return [];
  return [
    ...(output === null ? ["No output is known, so little is measured: name its node in the configuration."] : []),
    ...(input === undefined ? ["No input is known: give a source an ac value, or name it in the configuration."] : []),
  ];
}

/** The first of each name: our measures take precedence over the circuit's own. */
function once(measures: readonly Measure[]): Measure[] {
  return [...new Map(measures.toReversed().map((one) => [one.name, one])).values()].toReversed();
}
