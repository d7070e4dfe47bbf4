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

/** Points stored per analysis. */
export const storedPoints = 300;
/** Series stored per analysis. */
const maxRows = 12;

/** The output and the input first, then the other nodes, then currents; at most `maxPoints` points of each. */
export function waveformOf(
  { card }: Analysis,
  plot: Plot,
  first: readonly (string | null)[],
  maxPoints = storedPoints,
): Waveform {
  const [scale] = plot.vectors;
  const places = thinned(plot.points, maxPoints);
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

/** A stored curve with fewer points. */
export function thinnedWaveform(waveform: Waveform, maxPoints: number): Waveform {
  if (waveform.x.length <= maxPoints) return waveform;
  const places = thinned(waveform.x.length, maxPoints);
  const rows = Object.entries(waveform.rows).map(([name, values]) => [name, take(values, places)] as const);
  return { ...waveform, x: take(waveform.x, places), rows: Object.fromEntries(rows) };
}

function thinned(points: number, maxPoints: number): number[] {
  const count = Math.min(points, maxPoints);
  return Array.from({ length: count }, (_, index) =>
    count === 1 ? 0 : Math.round((index * (points - 1)) / (count - 1)),
  );
}

function take(values: ArrayLike<number>, places: readonly number[]): number[] {
  return places.map((place) => Number((values[place] ?? 0).toPrecision(6)));
}
