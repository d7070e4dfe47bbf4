import { z } from "zod";
import type { Analysis } from "./deck/analysis.ts";
import type { Plot } from "./raw-file.ts";
import { responseOf, vectorOf } from "./response.ts";

/**
 * The stored part of an analysis: thinned series over one scale, by name; complex values as magnitude in decibels (`…
 * dB`) and phase in degrees (`… deg`).
 */
export const Waveform = z.object({
  analysis: z.string(),
  scale: z.string(),
  points: z.number(),
  x: z.array(z.number()),
  rows: z.record(z.string(), z.array(z.number())),
});
export type Waveform = z.infer<typeof Waveform>;

/** Maximum points and series stored per analysis. */
const [maxPoints, maxRows] = [300, 12];

/** The output and the input first, then the other nodes, then currents. */
export function waveformOf({ card }: Analysis, plot: Plot, first: readonly (string | null)[]): Waveform {
  const [scale] = plot.vectors;
  const places = thinned(plot.points);
  const wanted = first.flatMap((name) => (name === null ? [] : (vectorOf(plot, name)?.name ?? [])));
  const names = plot.vectors.slice(1).map(({ name }) => name);
  const ordered = [...new Set([...wanted, ...names.filter((name) => name.startsWith("v(")), ...names])].slice(
    0,
    maxRows,
  );
  const rows: Record<string, number[]> = {};
  for (const name of ordered) {
    const response = responseOf(plot, name, null);
    if (response === undefined) rows[name] = take(vectorOf(plot, name)?.real ?? [], places);
    else {
      rows[`${name} dB`] = take(response.gain.y, places);
      rows[`${name} deg`] = take(response.phase.y, places);
    }
  }
  return { analysis: card, scale: scale?.name ?? "", points: plot.points, x: take(scale?.real ?? [], places), rows };
}

function thinned(points: number): number[] {
  const count = Math.min(points, maxPoints);
  return Array.from({ length: count }, (_, index) =>
    count === 1 ? 0 : Math.round((index * (points - 1)) / (count - 1)),
  );
}

function take(values: ArrayLike<number>, places: readonly number[]): number[] {
  return places.map((place) => Number((values[place] ?? 0).toPrecision(6)));
}
