import { crossing, part, valueAt, type Curve } from "../plot/curve.ts";

/** A step response from one level to another. */
export interface Step {
  /** Normalised from 0 to 1, exceeding it on overshoot; time in seconds from the step on. */
  shape: Curve;
  /** The difference of the levels. */
  height: number;
}

/** The response between a step and the next; `undefined` if negligible. */
export function stepOf(output: Curve, from: number, to: number): Step | undefined {
  const [before, after] = [valueAt(output, from), valueAt(output, to)];
  const height = after - before;
  if (!(to > from) || Math.abs(height) <= 1e-9 * Math.max(1, Math.abs(before))) return undefined;
  const { x, y } = part(output, from, to);
  return {
    shape: { x: Array.from(x, (time) => time - from), y: Array.from(y, (value) => (value - before) / height) },
    height: Math.abs(height),
  };
}

/** The time from 10 % to 90 % of the step, in seconds. */
export function riseTime({ shape }: Step): number | undefined {
  const begin = crossing(shape, 0.1, { direction: "up" });
  const end = crossing(shape, 0.9, { direction: "up" });
  return begin === undefined || end === undefined ? undefined : end - begin;
}

/** The overshoot beyond the final level, in percent of the step. */
export function overshoot({ shape }: Step): number {
  let peak = 1;
  for (let index = 0; index < shape.y.length; index += 1) peak = Math.max(peak, shape.y[index] ?? 0);
  // Less than a millionth of a percent is rounding.
  return Number(((peak - 1) * 100).toFixed(6));
}
