import { valueAt, type Curve } from "../plot/curve.ts";

/** Harmonics counted, including the fundamental; and samples per period. */
const [harmonics, samples] = [9, 2048];

/**
 * Total harmonic distortion over the last whole periods of a sine (hertz), in percent: the second to the ninth harmonic
 * relative to the first. `undefined` without a whole period.
 */
export function distortion(output: Curve, frequency: number): number | undefined {
  const [first = 0, last = 0] = [output.x[0], output.x[output.x.length - 1]];
  const period = 1 / frequency;
  const periods = Math.min(4, Math.floor(((last - first) / period) * (1 + 1e-9)));
  if (periods < 1 || !Number.isFinite(period)) return undefined;
  const count = samples * periods;
  const begin = last - periods * period;
  const values = Float64Array.from({ length: count }, (_, index) =>
    valueAt(output, begin + (index * period) / samples),
  );
  const amplitudes = Array.from({ length: harmonics }, (_, index) => amplitude(values, (index + 1) * periods));
  const [fundamental = 0, ...others] = amplitudes;
  return fundamental === 0 ? undefined : (100 * Math.hypot(...others)) / fundamental;
}

function amplitude(values: Float64Array, turns: number): number {
  let [real, imaginary] = [0, 0];
  for (const [index, value] of values.entries()) {
    const angle = (2 * Math.PI * turns * index) / values.length;
    real += value * Math.cos(angle);
    imaginary -= value * Math.sin(angle);
  }
  return (2 * Math.hypot(real, imaginary)) / values.length;
}
