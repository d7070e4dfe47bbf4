import { crossing, valueAt } from "../plot/curve.ts";
import type { Response } from "../response.ts";
import { unityGain } from "./unity-gain.ts";

/**
 * The phase margin in degrees: the distance to a full reversal at unity gain. Phase is relative to the lowest
 * frequency, so that inverting circuits are treated alike.
 */
export function phaseMargin(response: Response): number | undefined {
  const frequency = unityGain(response);
  if (frequency === undefined) return undefined;
  return 180 + valueAt(response.phase, frequency, "logarithmic") - (response.phase.y[0] ?? 0);
}

/** The gain margin in decibels: how far the gain is below one where the phase is reversed. */
export function gainMargin({ gain, phase }: Response): number | undefined {
  const reversed = crossing(phase, (phase.y[0] ?? 0) - 180, { direction: "down", between: "logarithmic" });
  return reversed === undefined ? undefined : -valueAt(gain, reversed, "logarithmic");
}
