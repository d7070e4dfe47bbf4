import type { Curve } from "./plot/curve.ts";
import type { Plot, Vector } from "./raw-file.ts";

/** A frequency response: gain in decibels, and unwrapped phase in degrees. */
export interface Response {
  gain: Curve;
  phase: Curve;
}

/** A plot's vector by name, ignoring case; `out` also finds `v(out)`. */
export function vectorOf({ vectors }: Plot, name: string): Vector | undefined {
  const wanted = name.toLowerCase();
  return vectors.find((vector) => vector.name === wanted) ?? vectors.find((vector) => vector.name === `v(${wanted})`);
}

/** A vector over its plot's scale. */
export function curveOf(plot: Plot, name: string): Curve | undefined {
  const [scale] = plot.vectors;
  const vector = vectorOf(plot, name);
  return scale === undefined || vector === undefined ? undefined : { x: scale.real, y: vector.real };
}

/** The output relative to the input, if named; else relative to an input of one. */
export function responseOf(plot: Plot, output: string, input: string | null): Response | undefined {
  const [scale] = plot.vectors;
  const above = vectorOf(plot, output);
  const below = input === null ? undefined : vectorOf(plot, input);
  if (scale === undefined || above?.imaginary === undefined) return undefined;
  const [gain, phase] = [new Float64Array(plot.points), new Float64Array(plot.points)];
  for (let index = 0; index < plot.points; index += 1) {
    const [a = 0, b = 0] = [above.real[index], above.imaginary[index]];
    const [c = 1, d = 0] = below === undefined ? [] : [below.real[index], below.imaginary?.[index]];
    const size = c * c + d * d;
    const [real, imaginary] = size === 0 ? [a, b] : [(a * c + b * d) / size, (b * c - a * d) / size];
    gain[index] = 20 * Math.log10(Math.max(Math.hypot(real, imaginary), Number.MIN_VALUE));
    phase[index] = (Math.atan2(imaginary, real) * 180) / Math.PI;
  }
  return { gain: { x: scale.real, y: gain }, phase: { x: scale.real, y: withoutJumps(phase) } };
}

function withoutJumps(phase: Float64Array): Float64Array {
  let turns = 0;
  return phase.map((value, index) => {
    const before = phase[index - 1] ?? value;
    if (value - before > 180) turns -= 1;
    else if (value - before < -180) turns += 1;
    return value + 360 * turns;
  });
}
