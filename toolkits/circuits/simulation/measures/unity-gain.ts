import { crossing } from "../plot/curve.ts";
import type { Response } from "../response.ts";

/** The frequency at which a gain above one falls to one, in hertz. */
export function unityGain({ gain }: Response): number | undefined {
  return crossing(gain, 0, { direction: "down", between: "logarithmic" });
}
