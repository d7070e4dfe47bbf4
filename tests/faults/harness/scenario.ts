/** One figure of the suite. */
export interface Figure {
  what: string;
  measured: string;
  target: string;
  holds: boolean;
  /** A time or a size: on a machine that does other work it says little, so the short form only prints it. */
  depends?: boolean;
  /** The first failures, for the reader of the report. */
  details?: string[];
}

/** What a scenario is given: its random numbers, whether this is the long form, and a function that reports its progress. */
export interface ScenarioContext {
  long: boolean;
  seed: number;
  random: Random;
  say: (text: string) => void;
}

/** One scenario: a name for `--only`, and its figures. */
export interface Scenario {
  name: string;
  run(context: ScenarioContext): Promise<Figure[]>;
}

/** Numbers that a seed decides. */
export interface Random {
  /** A whole number from 0 up to, and without, `limit`. */
  below(limit: number): number;
  pick<T>(values: readonly T[]): T;
}

/** Random numbers from a seed (mulberry32). */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(state ^ (state >>> 15), state | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) / 4_294_967_296;
  };
  return {
    below: (limit) => Math.floor(next() * limit),
    pick(values) {
      const value = values[Math.floor(next() * values.length)];
      if (value === undefined) throw new Error("There is nothing to pick from.");
      return value;
    },
  };
}

/** A count that must be nought; the first few problems are shown. */
export function noneOf(what: string, problems: readonly string[], of: number): Figure {
  return {
    what,
    measured: `${problems.length} of ${of}`,
    target: "0",
    holds: problems.length === 0,
    details: problems.slice(0, 5),
  };
}

/** A size or time with an upper limit. */
export function atMost(what: string, value: number, limit: number, unit: string): Figure {
  const measured = `${Number.isInteger(value) ? value : value.toFixed(2)} ${unit}`;
  return { what, measured, target: `≤ ${limit} ${unit}`, holds: value <= limit, depends: true };
}

/** The value below which `share` of them lie; 0 of none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
