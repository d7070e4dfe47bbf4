import { z } from "zod";
import { AppError } from "../errors/errors.ts";
import { optionalText } from "./operation-settings.ts";

const samplers = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
] as const;

const optionalUrl = optionalText.pipe(z.url({ protocol: /^https?$/ }).optional());

/** The variables of LangSmith and OpenTelemetry, under their own names. */
export const telemetryVariables = {
  LANGSMITH_API_KEY: optionalText,
  LANGSMITH_TRACING: optionalText,
  LANGSMITH_ENDPOINT: optionalUrl,
  LANGSMITH_PROJECT: optionalText,
  OTEL_EXPORTER_OTLP_ENDPOINT: optionalUrl,
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: optionalUrl,
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: optionalUrl,
  OTEL_EXPORTER_OTLP_PROTOCOL: optionalText,
  OTEL_TRACES_EXPORTER: z.enum(["otlp", "none"]).default("otlp"),
  OTEL_METRICS_EXPORTER: z.enum(["otlp", "none"]).default("otlp"),
  OTEL_TRACES_SAMPLER: z.enum(samplers).default("parentbased_always_on"),
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number().min(0).max(1).default(1),
  OTEL_METRIC_EXPORT_INTERVAL: z.coerce.number().int().positive().max(0x7fff_ffff).default(60_000),
  OTEL_SDK_DISABLED: optionalText,
};

type Values = z.infer<z.ZodObject<typeof telemetryVariables>>;

/** Whether LangSmith traces runs, and its address. */
export type LangsmithSettings = { enabled: boolean } & Record<"apiKey" | "endpoint" | "project", string | undefined>;

/** What the variables say of it. */
export function langsmithSettings(values: Values): LangsmithSettings {
  const apiKey = values.LANGSMITH_API_KEY;
  const isOff = ["false", "0"].includes(values.LANGSMITH_TRACING?.toLowerCase() ?? "");
  const { LANGSMITH_ENDPOINT: endpoint, LANGSMITH_PROJECT: project } = values;
  return { enabled: apiKey !== undefined && !isOff, apiKey, endpoint, project };
}

/**
 * What an OpenTelemetry collector receives; other variables, such as `OTEL_RESOURCE_ATTRIBUTES`, are read by its SDK.
 */
export interface TelemetrySettings {
  /** The address for spans; `undefined`: none. */
  traces: string | undefined;
  /** The address for metrics; `undefined`: none. */
  metrics: string | undefined;
  sampler: { name: (typeof samplers)[number]; ratio: number };
  /** Milliseconds between two exports of metrics. */
  metricInterval: number;
}

/** The settings; `undefined` if nothing is exported. Throws `config` for an unsupported protocol. */
export function telemetrySettings(values: Values): TelemetrySettings | undefined {
  const base = values.OTEL_EXPORTER_OTLP_ENDPOINT?.replace(/\/+$/u, "");
  const place = (own: string | undefined, path: string): string | undefined =>
    own ?? (base === undefined ? undefined : `${base}/${path}`);
  const traces =
    values.OTEL_TRACES_EXPORTER === "none" ? undefined : place(values.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, "v1/traces");
  const metrics =
    values.OTEL_METRICS_EXPORTER === "none"
      ? undefined
      : place(values.OTEL_EXPORTER_OTLP_METRICS_ENDPOINT, "v1/metrics");
  const isOff = values.OTEL_SDK_DISABLED?.toLowerCase() === "true";
  if (isOff || (traces === undefined && metrics === undefined)) return undefined;
  const { OTEL_EXPORTER_OTLP_PROTOCOL: protocol } = values;
  if (protocol !== undefined && protocol !== "http/protobuf") {
    throw new AppError("config", `OTEL_EXPORTER_OTLP_PROTOCOL is ${protocol}; only http/protobuf is spoken here.`, {
      suggestion:
        "Remove it and name the collector's HTTP address (usually port 4318), or set OTEL_SDK_DISABLED=true to export nothing.",
    });
  }
  const sampler = { name: values.OTEL_TRACES_SAMPLER, ratio: values.OTEL_TRACES_SAMPLER_ARG };
  return { traces, metrics, sampler, metricInterval: values.OTEL_METRIC_EXPORT_INTERVAL };
}
