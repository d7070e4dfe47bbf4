import { integral } from "../plot/curve.ts";
import type { Plot } from "../raw-file.ts";
import { curveOf } from "../response.ts";

/** The total noise of a spectrum in volts: the root of the integral of its square. */
export function noise(plot: Plot, spectrum: "onoise_spectrum" | "inoise_spectrum"): number | undefined {
  const density = curveOf(plot, spectrum);
  if (density === undefined) return undefined;
  return Math.sqrt(integral({ x: density.x, y: Array.from(density.y, (value) => value ** 2) }));
}
