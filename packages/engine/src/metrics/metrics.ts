import type * as PromClient from "prom-client";
import type { Metric, Registry } from "prom-client";
import { limitNames } from "../config/owner-limits.ts";
import type { RunStats } from "../runs/run-stats.ts";
import type { Durations, MetricFamily } from "./families.ts";
import { createLoopDelay, type Late } from "./loop-delay.ts";

/** The sources of the metrics. */
interface MetricsParts {
  version: string;
  runs: () => RunStats;
  /** Durations of synchronous commits. */
  commits: Durations;
  /** The database's size by part; none if unknown. */
  databaseBytes: () => Promise<Readonly<Record<string, number>>>;
  /** Readers of the server-wide feed. */
  feedReaders: () => number;
  /** The servers that work on the database; `undefined` where there is only this one. */
  servers: () => number | undefined;
  /** The agent's own metrics. */
  ofAgent: () => readonly MetricFamily[];
}

/** The server's metrics in Prometheus' text form. */
export interface Metrics {
  text(): Promise<{ body: string; contentType: string }>;
  /** The same metrics as objects; to look at them does not change what `text` says next. */
  families(): Promise<readonly MetricFamily[]>;
  /** Stops measuring. */
  close(): void;
}

/** Collects metrics on request; expensive measuring starts with the first request. */
export function openMetrics(parts: MetricsParts): Metrics {
  const delay = createLoopDelay();
  const families = async (late: Late): Promise<MetricFamily[]> => [
    ...runFamilies(parts.runs(), parts.feedReaders()),
    ...(await databaseFamilies(parts)),
    ...processFamilies(parts.version, late),
    ...parts.ofAgent(),
  ];
  return {
    families: () => families(delay.looked()),
    async text() {
      // Loading it takes longer than most of the start.
      const client = await import("prom-client");
      const registry = new client.Registry();
      for (const family of await families(delay.collected())) register(family, registry, client);
      return { body: await registry.metrics(), contentType: registry.contentType };
    },
    close: () => delay.close(),
  };
}

function register(family: MetricFamily, registry: Registry, client: typeof PromClient): void {
  const { name, help } = family;
  if (family.type === "histogram") {
    // prom-client's own histograms do not accept counts; for its text it only needs what this object has.
    registry.registerMetric(histogram(name, help, family.durations) as unknown as Metric);
    return;
  }
  // Without a value it would appear without its labels.
  if (family.values.length === 0) return;
  const labelNames = Object.keys(family.values[0]?.labels ?? {});
  const options = { name, help, labelNames, registers: [registry] };
  const metric = family.type === "counter" ? new client.Counter(options) : new client.Gauge(options);
  for (const { labels = {}, value } of family.values) metric.inc(labels, value);
}

function histogram(name: string, help: string, { bounds, counts, sum }: Durations): object {
  let count = 0;
  const buckets = counts.map((some, index) => {
    count += some;
    return { metricName: `${name}_bucket`, labels: { le: bounds[index] ?? "+Inf" }, value: count };
  });
  const totals = [
    { metricName: `${name}_sum`, labels: {}, value: sum },
    { metricName: `${name}_count`, labels: {}, value: count },
  ];
  const values = [...buckets, ...totals];
  return { name, get: async () => ({ name, help, type: "histogram", values, aggregator: "sum" }) };
}

function runFamilies(runs: RunStats, feedReaders: number): MetricFamily[] {
  const ended = Object.entries(runs.ended).map(([status, value]) => ({ labels: { status }, value }));
  return [
    {
      name: "millrace_runs",
      help: "Runs that are not over, by state",
      type: "gauge",
      values: [
        { labels: { state: "running" }, value: runs.running },
        { labels: { state: "waiting" }, value: runs.waiting },
      ],
    },
    { name: "millrace_runs_ended_total", help: "Runs that have ended since the start", type: "counter", values: ended },
    {
      name: "millrace_queue_oldest_seconds",
      help: "How long the run waits that waits longest",
      type: "gauge",
      values: [{ value: runs.oldestWaitingSeconds }],
    },
    {
      name: "millrace_first_token_seconds",
      help: "From the admission of a run to the first piece of a message",
      type: "histogram",
      durations: runs.firstToken,
    },
    {
      name: "millrace_owner_limit_refusals_total",
      help: "Model calls that were not made since a limit of their owner was used up",
      type: "counter",
      values: limitNames.map((limit) => ({ labels: { limit }, value: runs.refused[limit] ?? 0 })),
    },
    {
      name: "millrace_readers",
      help: "Readers of runs, and of the feed of the whole server",
      type: "gauge",
      values: [
        { labels: { of: "runs" }, value: runs.readers },
        { labels: { of: "feed" }, value: feedReaders },
      ],
    },
  ];
}

async function databaseFamilies({ databaseBytes, commits, servers }: MetricsParts): Promise<MetricFamily[]> {
  const values = Object.entries(await databaseBytes()).map(([file, value]) => ({ labels: { file }, value }));
  const working = servers();
  return [
    {
      name: "millrace_servers",
      help: "Servers that work on the database, this one included",
      type: "gauge",
      values: working === undefined ? [] : [{ value: working }],
    },
    {
      name: "millrace_database_bytes",
      help: "Bytes of the database and of its write-ahead log",
      type: "gauge",
      values,
    },
    {
      name: "millrace_database_commit_seconds",
      help: "Commits that waited for the disk",
      type: "histogram",
      durations: commits,
    },
  ];
}

function processFamilies(version: string, late: Late): MetricFamily[] {
  const { user, system } = process.cpuUsage();
  return [
    { name: "millrace_info", help: "The version", type: "gauge", values: [{ labels: { version }, value: 1 }] },
    {
      name: "millrace_event_loop_delay_seconds",
      help: "How late the event loop was since it was asked last",
      type: "gauge",
      values: Object.entries(late).map(([quantile, value]) => ({ labels: { quantile }, value })),
    },
    {
      name: "process_cpu_seconds_total",
      help: "Time of the processor",
      type: "counter",
      values: [{ value: (user + system) / 1e6 }],
    },
    {
      name: "process_resident_memory_bytes",
      help: "Memory of the machine that the process takes",
      type: "gauge",
      values: [{ value: process.memoryUsage.rss() }],
    },
  ];
}
