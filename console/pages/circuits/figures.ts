import type { Goal, Iteration } from "../../api/shaping/circuit-shapes.ts";

const prefixes = ["f", "p", "n", "µ", "m", "", "k", "M", "G", "T"] as const;
const plain = 5;

/** Units that take no prefix. */
const unscaled = new Set(["dB", "%", ""]);

/** A value with its unit and an SI prefix: `12.5 kHz`. */
export function quantity(value: number, unit: string, digits = 4): string {
  if (!Number.isFinite(value)) return "–";
  // Of levels and angles, what is less than a thousandth is what is left of rounding.
  const level = unit === "dB" || unit === "deg" ? Number(value.toFixed(3)) : value;
  if (unit === "deg") return `${trimmed(level, digits)}°`;
  if (value === 0 || unscaled.has(unit)) return `${trimmed(level, digits)} ${unit}`.trim();
  // A value that rounds to a thousand belongs to the next prefix.
  const rounded = Number(value.toPrecision(digits));
  const step = Math.floor(Math.log10(Math.abs(rounded)) / 3);
  const at = Math.min(prefixes.length - 1, Math.max(0, step + plain));
  const scaled = rounded / 10 ** ((at - plain) * 3);
  return `${trimmed(scaled, digits)} ${prefixes[at]}${unit}`.trim();
}

function trimmed(value: number, digits: number): string {
  return String(Number(value.toPrecision(digits)));
}

/** The unit of a row of curves, by its name as the simulator has it. */
export function unitOf(row: string): string {
  if (row.endsWith(" dB")) return "dB";
  if (row.endsWith(" deg")) return "deg";
  if (/^i\(|#branch$|^@/u.test(row)) return "A";
  return "V";
}

/** What a row of curves is of: magnitude and phase of a complex value are two rows of one signal. */
export function signalOf(row: string): string {
  return row.replace(/ (?:dB|deg)$/u, "");
}

/** The unit of a scale, and whether it is drawn by decades. */
export function scaleOf(
  scale: string,
  analysis: string,
): { unit: string; kind: "frequency" | "time" | "sweep"; isLog: boolean } {
  if (scale.startsWith("freq")) return { unit: "Hz", kind: "frequency", isLog: !/\slin\s/iu.test(analysis) };
  if (scale === "time") return { unit: "s", kind: "time", isLog: false };
  return { unit: /^i|temp/iu.test(scale) ? "" : "V", kind: "sweep", isLog: false };
}

/** What a goal wants, as it was written. */
export function targetOf({ target, unit }: Goal): string {
  return typeof target === "number" ? `${target} ${unit}`.trim() : target;
}

/** How good the figures of a simulation are: the goals that it reaches, and by how much it misses the others. */
function merit({ goals }: Iteration): [reached: number, missedBy: number] {
  const missed = goals.filter(({ state }) => state !== "reached");
  const sum = missed.reduce((total, { value, gap }) => {
    if (value === null || gap === null) return total + 1;
    return total + Math.min(1, Math.abs(gap) / Math.max(Math.abs(value - gap), Number.MIN_VALUE));
  }, 0);
  return [goals.length - missed.length, sum];
}

/**
 * The simulation that comes nearest to its goals, the newest of those that are alike; newest first. It is called the best where
 * it reaches one of them, else the closest; where no goal was measured there is none.
 */
export function bestOf(
  iterations: readonly Iteration[],
): { iteration: Iteration; name: "best" | "closest" } | undefined {
  const able = iterations.filter(
    ({ status, goals }) =>
      status !== "failed" && status !== "running" && goals.some(({ state }) => state !== "unknown"),
  );
  const iteration = able.reduce<Iteration | undefined>((best, one) => {
    if (best === undefined) return one;
    const [[more, less], [most, least]] = [merit(one), merit(best)];
    return more > most || (more === most && less < least) ? one : best;
  }, undefined);
  return iteration && { iteration, name: reachedIn(iteration) > 0 ? "best" : "closest" };
}

/** How many goals a simulation has reached. */
export function reachedIn({ goals }: Iteration): number {
  return goals.filter(({ state }) => state === "reached").length;
}
