import { type Attributes, type HrTime, ValueType } from "@opentelemetry/api";
import type { Resource } from "@opentelemetry/resources";
import {
  AggregationTemporality,
  DataPointType,
  type MetricData,
  type MetricProducer,
} from "@opentelemetry/sdk-metrics";
import type { Durations, MetricFamily } from "../metrics/families.ts";

/** The metrics of `/metrics` in OpenTelemetry's form, with the same names and labels. */
export function metricProducer(resource: Resource, families: () => Promise<readonly MetricFamily[]>): MetricProducer {
  const startTime = now();
  return {
    collect: async () => {
      const times = { startTime, endTime: now() };
      const metrics = (await families()).map((family) => metricData(family, times));
      return { resourceMetrics: { resource, scopeMetrics: [{ scope: { name: "millrace" }, metrics }] }, errors: [] };
    },
  };
}

/** Seconds and nanoseconds. */
function now(): HrTime {
  const time = Date.now();
  return [Math.floor(time / 1_000), (time % 1_000) * 1e6];
}

function metricData(family: MetricFamily, times: { startTime: HrTime; endTime: HrTime }): MetricData {
  const { name, help: description } = family;
  const about = {
    descriptor: { name, description, unit: "", valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  if (family.type === "histogram") {
    const dataPoints = [{ ...times, attributes: {}, value: histogram(family.durations) }];
    return { ...about, dataPointType: DataPointType.HISTOGRAM, dataPoints };
  }
  const dataPoints = family.values.map(({ labels = {}, value }) => {
    const attributes: Attributes = { ...labels };
    return { ...times, attributes, value };
  });
  return family.type === "counter"
    ? { ...about, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }
    : { ...about, dataPointType: DataPointType.GAUGE, dataPoints };
}

function histogram({ bounds, counts, sum }: Durations) {
  const count = counts.reduce((total, some) => total + some, 0);
  return { buckets: { boundaries: [...bounds], counts: [...counts] }, sum, count };
}
