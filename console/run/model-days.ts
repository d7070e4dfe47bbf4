/** How the calls of a model went on a day. */
export interface ModelDay {
  day: string;
  model: string;
  requests: number;
  failed: number;
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  cost: number;
  mean_duration_ms: number | null;
  mean_first_token_ms: number | null;
}

/** What the chart can show. */
export const measures = ["requests", "tokens", "cost", "failed", "duration"] as const;
/** One of them. */
export type Measure = (typeof measures)[number];

/** Days up to today that can be chosen by their number. */
export const dayCounts = [7, 30, 90] as const;

/** Which days, which model and which measure the address asks for. */
export interface ChosenDays {
  from: string;
  to: string;
  /** Which number of days up to today that is, if it is one that can be chosen. */
  count: number | undefined;
  model: string | undefined;
  measure: Measure;
}

const dayMs = 86_400_000;
const maxDays = 400;

/** The day of a moment, by UTC as the server counts. */
export function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

/** So many days after a day, or before it. */
export function dayAfter(day: string, count: number): string {
  return dayOf(Date.parse(day) + count * dayMs);
}

/** What the words of an address ask for; what cannot be read asks for the last 30 days. */
export function readChosenDays(params: URLSearchParams, today: string): ChosenDays {
  const [from, to] = [params.get("from"), params.get("to")];
  const isSpan = isDay(from) && isDay(to) && from <= to && dayAfter(to, -maxDays) < from;
  const count = dayCounts.find((one) => String(one) === params.get("days")) ?? 30;
  const model = params.get("model") ?? undefined;
  const measure = measures.find((one) => one === params.get("show")) ?? "tokens";
  return isSpan
    ? { from, to, count: undefined, model, measure }
    : { from: dayAfter(today, 1 - count), to: today, count, model, measure };
}

/** Whether a text is a day of the calendar. */
export function isDay(text: string | null): text is string {
  return text !== null && /^\d{4}-\d{2}-\d{2}$/u.test(text) && !Number.isNaN(Date.parse(text));
}

/** Sums of several days or models; a mean weighs each by its answered calls. */
export function sumOf(rows: readonly ModelDay[]): Omit<ModelDay, "day" | "model"> {
  const sum = (of: "requests" | "failed" | "input_tokens" | "output_tokens" | "cached_tokens" | "cost"): number =>
    rows.reduce((total, row) => total + row[of], 0);
  const mean = (of: "mean_duration_ms" | "mean_first_token_ms"): number | null => {
    const known = rows.filter((row) => row[of] !== null);
    const requests = known.reduce((total, row) => total + row.requests, 0);
    return requests === 0 ? null : known.reduce((total, row) => total + (row[of] ?? 0) * row.requests, 0) / requests;
  };
  return {
    requests: sum("requests"),
    failed: sum("failed"),
    input_tokens: sum("input_tokens"),
    output_tokens: sum("output_tokens"),
    cached_tokens: sum("cached_tokens"),
    cost: sum("cost"),
    mean_duration_ms: mean("mean_duration_ms"),
    mean_first_token_ms: mean("mean_first_token_ms"),
  };
}

/** The sums of each model, those with most tokens first. */
export function byModel(rows: readonly ModelDay[]): (ReturnType<typeof sumOf> & { model: string })[] {
  return [...Map.groupBy(rows, ({ model }) => model)]
    .map(([model, days]) => ({ model, ...sumOf(days) }))
    .toSorted(
      (one, other) => valueOf(other, "tokens") - valueOf(one, "tokens") || one.model.localeCompare(other.model),
    );
}

/** What a measure is of these sums. */
export function valueOf(row: ReturnType<typeof sumOf>, measure: Measure): number {
  switch (measure) {
    case "tokens":
      return row.input_tokens + row.output_tokens;
    case "duration":
      return row.mean_duration_ms ?? 0;
    case "requests":
    case "cost":
    case "failed":
      return row[measure];
  }
}

/** Each day from one to another with its value, also where nothing was asked. */
export function daysOf(rows: readonly ModelDay[], { from, to, measure }: ChosenDays): { day: string; value: number }[] {
  const days = Map.groupBy(rows, ({ day }) => day);
  const count = Math.round((Date.parse(to) - Date.parse(from)) / dayMs) + 1;
  return Array.from({ length: count }, (_, index) => {
    const day = dayAfter(from, index);
    return { day, value: valueOf(sumOf(days.get(day) ?? []), measure) };
  });
}
