import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-proto";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  defaultResource,
  detectResources,
  type Resource,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceInstanceIdDetector,
  serviceNameEnvDetector,
} from "@opentelemetry/resources";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { withTimeout } from "../concurrency/abort.ts";
import type { TelemetrySettings } from "../config/telemetry-settings.ts";
import { errorMessage } from "../errors/errors.ts";
import type { Logger } from "../logger.ts";
import { metricProducer } from "./metric-data.ts";
import { RunIds, traceRun } from "./run-tracer.ts";
import type { Telemetry } from "./telemetry.ts";

/** Milliseconds between two log lines about a failing collector. */
const complaintInterval = 60_000;

/** Exports spans and metrics to the collector in the background, dropping what it does not accept in time. */
export function startExport(settings: TelemetrySettings, version: string, logger: Logger): Telemetry {
  const resource = resourceOf(version);
  const complain = complaints(logger);
  const { traces, metrics } = settings;
  const ids = new RunIds();
  const tracerProvider =
    traces === undefined
      ? undefined
      : new TracerProvider({
          resource,
          sampler: samplerOf(settings.sampler),
          idGenerator: ids,
          spanProcessors: [
            new BatchSpanProcessor({
              exporter: withFailureLog(new OTLPTraceExporter({ url: traces }), "traces", complain),
            }),
          ],
        });
  const tracer = tracerProvider?.getTracer("millrace", version);
  let meterProvider: MeterProvider | undefined;
  return {
    traceRun: tracer === undefined ? undefined : (run) => traceRun(tracer, ids, run),
    exportMetrics: (families) => {
      if (metrics === undefined) return;
      const reader = new PeriodicExportingMetricReader({
        exporter: withFailureLog(new OTLPMetricExporter({ url: metrics }), "metrics", complain),
        exportIntervalMillis: settings.metricInterval,
        metricProducers: [metricProducer(resource, families)],
      });
      meterProvider = new MeterProvider({ resource, readers: [reader] });
    },
    close: async (limitMs) => {
      // The exporter has logged its own failures.
      const ends = Promise.allSettled([tracerProvider?.shutdown(), meterProvider?.shutdown()]);
      await withTimeout(ends, limitMs, () => undefined);
    },
  };
}

/** The environment's attributes override ours. */
function resourceOf(version: string): Resource {
  const own = resourceFromAttributes({ "service.name": "millrace", "service.version": version });
  const detectors = [serviceInstanceIdDetector, resourceAttributesEnvDetector, serviceNameEnvDetector];
  return defaultResource().merge(own).merge(detectResources({ detectors }));
}

function samplerOf({ name, ratio }: TelemetrySettings["sampler"]): Sampler {
  switch (name) {
    case "always_on":
      return new AlwaysOnSampler();
    case "always_off":
      return new AlwaysOffSampler();
    case "traceidratio":
      return new TraceIdRatioBasedSampler(ratio);
    case "parentbased_always_on":
      return new ParentBasedSampler({ root: new AlwaysOnSampler() });
    case "parentbased_always_off":
      return new ParentBasedSampler({ root: new AlwaysOffSampler() });
    case "parentbased_traceidratio":
      return new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) });
  }
}

type Signal = "traces" | "metrics";
type Complain = (signal: Signal, error: Error | undefined) => void;

/** Logs failed exports, at most one a minute: while a collector is down, every export fails. */
function complaints(logger: Logger): Complain {
  let last: number | undefined;
  let unsaid = 0;
  return (signal, error) => {
    const now = performance.now();
    if (last !== undefined && now - last < complaintInterval) {
      unsaid += 1;
      return;
    }
    last = now;
    const status = error !== undefined && "code" in error ? error.code : undefined;
    const reason = error === undefined ? "unknown" : errorMessage(error);
    logger.warn({ signal, reason, status, ...(unsaid > 0 && { more: unsaid }) }, "telemetry_not_exported");
    unsaid = 0;
  };
}

interface Exporter<Items> {
  export(items: Items, done: (result: { code: number; error?: Error }) => void): void;
}

/** Wraps an exporter so that its failures are reported. */
function withFailureLog<Items, Kind extends Exporter<Items>>(exporter: Kind, signal: Signal, complain: Complain): Kind {
  const send = exporter.export.bind(exporter);
  exporter.export = (items, done) =>
    send(items, (result) => {
      if (result.code !== 0) complain(signal, result.error);
      done(result);
    });
  return exporter;
}
