import { crossing, valueAt } from "../plot/curve.ts";
import type { Response } from "../response.ts";
import { unityGain } from "./unity-gain.ts";

/**
 * How far the phase is from a full reversal where the gain has fallen to one, in degrees. The phase counts from the one
 * at the lowest frequency, so that an inverting circuit is judged like any other.
 */
export function phaseMargin(response: Response): number | undefined {
  const frequency = unityGain(response);
  if (frequency === undefined) return undefined;
  return 180 + valueAt(response.phase, frequency, "logarithmic") - (response.phase.y[0] ?? 0);
}

/** How far the gain is below one where the phase has been reversed, in decibels. */
export function gainMargin({ gain, phase }: Response): number | undefined {
  const reversed = crossing(phase, (phase.y[0] ?? 0) - 180, { direction: "down", between: "logarithmic" });
  return reversed === undefined ? undefined : -valueAt(gain, reversed, "logarithmic");
}
