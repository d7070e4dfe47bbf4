/** Measurements of one name, as Prometheus has them. */
export type MetricFamily = { name: string; help: string } & (
  | { type: "counter" | "gauge"; values: readonly MetricValue[] }
  | { type: "histogram"; durations: Durations }
);

/** One measurement. Labels come from what is configured, never from what users send. */
export interface MetricValue {
  labels?: Readonly<Record<string, string>>;
  value: number;
}

/** How often something took how long, in seconds; the last of `counts` is what took longer than all bounds. */
export interface Durations {
  readonly bounds: readonly number[];
  readonly counts: number[];
  sum: number;
}

/** Durations of which none has been counted. */
export function noDurations(bounds: readonly number[]): Durations {
  return { bounds, counts: Array.from({ length: bounds.length + 1 }, () => 0), sum: 0 };
}

/** Counts one of them. */
export function countDuration(durations: Durations, seconds: number): void {
  const index = durations.bounds.findIndex((bound) => seconds <= bound);
  const place = index === -1 ? durations.bounds.length : index;
  durations.counts[place] = (durations.counts[place] ?? 0) + 1;
  durations.sum += seconds;
}

/** Names that one label may have; what comes after is counted together. */
const mostNames = 200;

/** Sums by labels, of which the first names something that is bounded only in practice, such as a tool. */
export class LabelledSums {
  readonly #names: readonly string[];
  readonly #first = new Set<string>();
  readonly #sums = new Map<string, { labels: Record<string, string>; value: number }>();

  /** `names`: the labels, in the order in which `add` takes their values. */
  constructor(...names: string[]) {
    this.#names = names;
  }

  add(amount: number, first: string, ...others: string[]): void {
    if (this.#first.size < mostNames) this.#first.add(first);
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
