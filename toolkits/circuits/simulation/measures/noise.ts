import { integral } from "../plot/curve.ts";
import type { Plot } from "../raw-file.ts";
import { curveOf } from "../response.ts";

/** The noise of a whole spectrum in volts: the root of the area under its square. */
export function noise(plot: Plot, spectrum: "onoise_spectrum" | "inoise_spectrum"): number | undefined {
  const density = curveOf(plot, spectrum);
  if (density === undefined) return undefined;
  return Math.sqrt(integral({ x: density.x, y: Array.from(density.y, (value) => value ** 2) }));
}
