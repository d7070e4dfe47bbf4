/** Measurements of one name, in Prometheus' model. */
export type MetricFamily = { name: string; help: string } & (
  | { type: "counter" | "gauge"; values: readonly MetricValue[] }
  | { type: "histogram"; durations: Durations }
);

/** One measurement. Label values come from configuration, never from users. */
export interface MetricValue {
  labels?: Readonly<Record<string, string>>;
  value: number;
}

/** A histogram in seconds; the last of `counts` is above all bounds. */
export interface Durations {
  readonly bounds: readonly number[];
  readonly counts: number[];
  sum: number;
}

/** An empty histogram. */
export function noDurations(bounds: readonly number[]): Durations {
  return { bounds, counts: Array.from({ length: bounds.length + 1 }, () => 0), sum: 0 };
}

/** Adds one duration. */
export function countDuration(durations: Durations, seconds: number): void {
  const index = durations.bounds.findIndex((bound) => seconds <= bound);
  const place = index === -1 ? durations.bounds.length : index;
  durations.counts[place] = (durations.counts[place] ?? 0) + 1;
  durations.sum += seconds;
}

/** Maximum values of one label; further ones are counted together. */
const maxNames = 200;

/** Sums by labels, the first of which is not strictly bounded, such as a tool's name. */
export class LabelledSums {
  readonly #names: readonly string[];
  readonly #first = new Set<string>();
  readonly #sums = new Map<string, { labels: Record<string, string>; value: number }>();

  /** `names`: the labels, in the order of `add`'s values. */
  constructor(...names: string[]) {
    this.#names = names;
  }

  add(amount: number, first: string, ...others: string[]): void {
    if (this.#first.size < maxNames) this.#first.add(first);
    const values = [this.#first.has(first) ? first : "other", ...others];
    const key = values.join("\n");
    const known = this.#sums.get(key);
    if (known !== undefined) known.value += amount;
    else {
      const labels = Object.fromEntries(this.#names.map((name, index) => [name, values[index] ?? ""]));
      this.#sums.set(key, { labels, value: amount });
    }
  }

  values(): MetricValue[] {
    return [...this.#sums.values()];
  }
}
