import type { Response } from "../response.ts";

/** The gain at the lowest simulated frequency, in decibels. */
export function gain({ gain: { y } }: Response): number | undefined {
  return y[0];
}

/** The largest gain, in decibels. */
export function peakGain({ gain: { y } }: Response): number {
  let peak = -Infinity;
  for (let index = 0; index < y.length; index += 1) peak = Math.max(peak, y[index] ?? -Infinity);
  return peak;
}
