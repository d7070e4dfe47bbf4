/** The states of a run. */
export const runStatuses = ["running", "pending", "error", "timeout", "interrupted", "success"] as const;
/** One of them. */
export type RunStatus = (typeof runStatuses)[number];

/** Which runs are asked for; what is absent does not matter. */
export interface RunFilter {
  status?: RunStatus;
  graph_id?: string;
  assistant_id?: string;
  thread_id?: string;
  from?: string;
  to?: string;
}

/** The length of the spans of a histogram. */
export type Bucket = "minute" | "hour" | "day";

/** How many runs of a status began in a span of time. */
export interface RunCount {
  at: string;
  status: RunStatus;
  count: number;
}

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** Spans of time up to now that can be chosen by name. */
export const ranges = { hour, day, week: 7 * day, month: 30 * day } as const;
/** One of them, or no limit. */
export type Range = keyof typeof ranges | "any";

/** The names of the ranges, as they are offered. */
export const rangeNames = ["any", "hour", "day", "week", "month"] as const;

/** Which runs the address asks for. */
export interface Chosen {
  status: RunStatus | undefined;
  graph: string | undefined;
  thread: string | undefined;
  range: Range;
  /** A span chosen in the histogram, in place of the range. */
  span: { from: number; to: number } | undefined;
}

/** What the words of an address ask for; what cannot be read asks for nothing. */
export function readChosen(params: URLSearchParams): Chosen {
  const status = runStatuses.find((one) => one === params.get("state"));
  const from = Date.parse(params.get("from") ?? "");
  const to = Date.parse(params.get("to") ?? "");
  const range = rangeNames.find((one) => one === params.get("time")) ?? "any";
  return {
    status,
    graph: params.get("graph") ?? undefined,
    thread: params.get("thread") ?? undefined,
    range,
    span: Number.isNaN(from) || Number.isNaN(to) || to <= from ? undefined : { from, to },
  };
}

/** The filter that the routes take. A range begins at a full minute, so that the same question has the same words for a while. */
export function filterOf({ status, graph, thread, range, span }: Chosen, now: number): RunFilter {
  const begin = range === "any" ? undefined : Math.floor((now - ranges[range]) / minute) * minute;
  const from = span?.from ?? begin;
  return {
    ...(status !== undefined && { status }),
    ...(graph !== undefined && { graph_id: graph }),
    ...(thread !== undefined && { thread_id: thread }),
    ...(from !== undefined && { from: new Date(from).toISOString() }),
    ...(span !== undefined && { to: new Date(span.to).toISOString() }),
  };
}

/** What the histogram shows: its time and the length of its bars. Without a limit it shows the newest 30 days. */
export function histogramOf({ range, span }: Chosen, now: number): { from: number; to: number; bucket: Bucket } {
  const to = span?.to ?? now;
  const from = span?.from ?? now - (range === "any" ? ranges.month : ranges[range]);
  const bucket = to - from <= 3 * hour ? "minute" : to - from <= 8 * day ? "hour" : "day";
  return { from, to, bucket };
}

/** Milliseconds of a bar. */
export const bucketLength: Readonly<Record<Bucket, number>> = { minute, hour, day };

/** A bar of the histogram. */
export interface Bar {
  at: number;
  count: number;
  failed: number;
}

/** One bar for each span of the time that is shown, also where nothing ran. */
export function barsOf(counts: readonly RunCount[], from: number, to: number, length: number): Bar[] {
  const first = Math.floor(from / length) * length;
  const bars = Array.from({ length: Math.max(1, Math.ceil((to - first) / length)) }, (_, index): Bar => ({
    at: first + index * length,
    count: 0,
    failed: 0,
  }));
  for (const { at, status, count } of counts) {
    const bar = bars[Math.round((Date.parse(at) - first) / length)];
    if (bar === undefined) continue;
    bar.count += count;
    if (status === "error" || status === "timeout") bar.failed += count;
  }
  return bars;
}

/** A run of the list, or the head of a day. */
export type RunRow<Run> = { kind: "day"; key: string; at: string } | { kind: "run"; key: string; run: Run };

/** The runs with a head before each day. */
export function rowsOf<Run extends { run_id: string; queued_at: string }>(runs: readonly Run[]): RunRow<Run>[] {
  const rows: RunRow<Run>[] = [];
  let day = "";
  for (const run of runs) {
    const own = new Date(run.queued_at).toDateString();
    if (own !== day) rows.push({ kind: "day", key: own, at: run.queued_at });
    day = own;
    rows.push({ kind: "run", key: run.run_id, run });
  }
  return rows;
}
