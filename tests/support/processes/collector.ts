import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import protobuf from "protobufjs";
import { z } from "zod";

/** What is read here of OTLP's messages, with the numbers that its specification gives their fields. */
const definition = `
syntax = "proto3";
message Value { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; Values array_value = 5; } }
message Values { repeated Value values = 1; }
message Attribute { string key = 1; Value value = 2; }
message Resource { repeated Attribute attributes = 1; }
message Status { string message = 2; int32 code = 3; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5; int32 kind = 6;
  fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8; repeated Attribute attributes = 9; Status status = 15;
}
message ScopeSpans { repeated Span spans = 2; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
message Traces { repeated ResourceSpans resource_spans = 1; }
message NumberPoint { repeated Attribute attributes = 7; oneof value { double as_double = 4; sfixed64 as_int = 6; } }
message HistogramPoint { fixed64 count = 4; double sum = 5; repeated fixed64 bucket_counts = 6; repeated double explicit_bounds = 7; }
message Gauge { repeated NumberPoint data_points = 1; }
message Sum { repeated NumberPoint data_points = 1; int32 aggregation_temporality = 2; bool is_monotonic = 3; }
message Histogram { repeated HistogramPoint data_points = 1; int32 aggregation_temporality = 2; }
message Metric { string name = 1; string description = 2; Gauge gauge = 5; Sum sum = 7; Histogram histogram = 9; }
message ScopeMetrics { repeated Metric metrics = 2; }
message ResourceMetrics { Resource resource = 1; repeated ScopeMetrics scope_metrics = 2; }
message Metrics { repeated ResourceMetrics resource_metrics = 1; }
`;
const { root } = protobuf.parse(definition);

const Attributes = z
  .array(z.object({ key: z.string(), value: z.record(z.string(), z.unknown()) }))
  .default([])
  .transform((list) => Object.fromEntries(list.map(({ key, value }) => [key, Object.values(value)[0]])));
const Id = z.instanceof(Uint8Array).transform((bytes) => Buffer.from(bytes).toString("hex"));
const Span = z.object({
  traceId: Id,
  spanId: Id,
  parentSpanId: Id.optional(),
  name: z.string(),
  kind: z.number().default(0),
  startTimeUnixNano: z.string().transform(BigInt),
  endTimeUnixNano: z.string().transform(BigInt),
  attributes: Attributes,
  status: z.object({ code: z.number().default(0), message: z.string().optional() }).optional(),
});
const Points = z.object({ dataPoints: z.array(z.object({ attributes: Attributes, asDouble: z.number().default(0) })) });
const Metric = z.object({
  name: z.string(),
  gauge: Points.optional(),
  sum: Points.extend({ aggregationTemporality: z.number(), isMonotonic: z.boolean().default(false) }).optional(),
  histogram: z
    .object({
      dataPoints: z.array(z.object({ bucketCounts: z.array(z.string()), explicitBounds: z.array(z.number()) })),
    })
    .optional(),
});
const Resource = z.object({ attributes: Attributes });
const Traces = z.object({
  resourceSpans: z.array(z.object({ resource: Resource, scopeSpans: z.array(z.object({ spans: z.array(Span) })) })),
});
const Metrics = z.object({
  resourceMetrics: z.array(
    z.object({ resource: Resource, scopeMetrics: z.array(z.object({ metrics: z.array(Metric) })) }),
  ),
});
export type Span = z.infer<typeof Span>;

/** An OpenTelemetry collector: what it has taken, decoded. */
export interface Collector {
  url: string;
  spans: Span[];
  /** The metrics of the newest export. */
  metrics: z.infer<typeof Metric>[];
  /** What the newest export said of the service. */
  resource: Record<string, unknown>;
  /** The headers of each request. */
  requests: NodeJS.Dict<string | string[]>[];
  /** Answers what is held back, and from now on at once. */
  release(): void;
  close(): Promise<void>;
}

/** Starts one; `status` is what it answers, `holds` holds every response back. */
export async function startCollector({ status = 200, holds = false } = {}): Promise<Collector> {
  const held: ServerResponse[] = [];
  let isHeld = holds;
  const server = createServer((request, response) => {
    void buffer(request).then((body) => {
      collector.requests.push(request.headers);
      if (request.url === "/v1/traces") takeSpans(body);
      else if (request.url === "/v1/metrics") takeMetrics(body);
      if (isHeld) held.push(response);
      else response.writeHead(status).end();
    });
  });
  const takeSpans = (body: Buffer): void => {
    for (const { resource, scopeSpans } of Traces.parse(decoded("Traces", body)).resourceSpans) {
      collector.resource = resource.attributes;
      collector.spans.push(...scopeSpans.flatMap(({ spans }) => spans));
    }
  };
  const takeMetrics = (body: Buffer): void => {
    for (const { resource, scopeMetrics } of Metrics.parse(decoded("Metrics", body)).resourceMetrics) {
      collector.resource = resource.attributes;
      collector.metrics = scopeMetrics.flatMap(({ metrics }) => metrics);
    }
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // A server that listens on a port has an AddressInfo; a string is only for pipes.
  const { port } = server.address() as AddressInfo;
  const collector: Collector = {
    url: `http://127.0.0.1:${port}`,
    spans: [],
    metrics: [],
    resource: {},
    requests: [],
    release: () => {
      isHeld = false;
      for (const response of held.splice(0)) response.writeHead(status).end();
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return collector;
}

function decoded(type: string, body: Buffer): object {
  const message = root.lookupType(type);
  return message.toObject(message.decode(body), { longs: String, defaults: false, arrays: true });
}
