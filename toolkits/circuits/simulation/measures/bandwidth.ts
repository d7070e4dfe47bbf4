import { crossing } from "../plot/curve.ts";
import type { Response } from "../response.ts";
import { peakGain } from "./gain.ts";

/** Half the power, in decibels. */
const half = 10 * Math.log10(2);

/** A circuit's pass band in hertz; an edge outside the simulated range is missing. */
export interface Band {
  lower?: number;
  upper?: number;
  /** The distance of the edges; from zero if the lowest frequencies pass. */
  bandwidth?: number;
  /** The centre of a band with two edges, and its quality: centre over width. */
  center?: number;
  quality?: number;
}

/**
 * The band in which the gain is at most 3 dB below that at the lowest frequency or, if that does not pass, below the
 * maximum.
 */
export function band(response: Response): Band {
  const { gain } = response;
  const [first = -Infinity] = Array.from(gain.y).slice(0, 1);
  const peak = peakGain(response);
  const between = "logarithmic";
  if (first >= peak - half || isFlatFromTheStart(response, peak)) {
    const upper = crossing(gain, first - half, { direction: "down", between });
    return upper === undefined ? {} : { upper, bandwidth: upper };
  }
  const lower = crossing(gain, peak - half, { direction: "up", between });
  const upper = crossing(gain, peak - half, { direction: "down", from: lower ?? 0, between });
  if (lower === undefined || upper === undefined)
    return { ...(lower !== undefined && { lower }), ...(upper !== undefined && { upper }) };
  const [center, bandwidth] = [Math.sqrt(lower * upper), upper - lower];
  return { lower, upper, bandwidth, center, quality: center / bandwidth };
}

/**
 * Detects a resonance above a level that starts at the lowest frequency: the gain does not rise over the first octave.
 */
function isFlatFromTheStart({ gain: { x, y } }: Response, peak: number): boolean {
  const [start = 0] = [x[0]];
  for (let index = 1; index < x.length && (x[index] ?? 0) <= 2 * start; index += 1) {
    if (Math.abs((y[index] ?? 0) - (y[0] ?? 0)) > Math.max(0.05, (peak - (y[0] ?? 0)) / 100)) return false;
  }
  return true;
}
