import type { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import type { MetricFamily } from "../metrics/families.ts";
import type { Run } from "../storage/records.ts";

/** The spans of one attempt of a run. */
export interface RunTrace {
  traceId: string;
  /** Creates the spans of nodes, model calls and tool calls; `undefined` if the trace is not recorded. */
  handler: BaseCallbackHandler | undefined;
  /** Ends the run's span, and those that a stop left open. `error`: the kind of failure. */
  end(outcome: { status: string; error?: string | undefined }): void;
}

/** What the process sends to an OpenTelemetry collector. */
export interface Telemetry {
  /** Starts the trace of an attempt. Absent if only metrics are exported. */
  traceRun?: ((run: Run) => RunTrace) | undefined;
  /** Starts exporting the metrics of `GET /metrics`, if enabled. */
  exportMetrics(families: () => Promise<readonly MetricFamily[]>): void;
  /** Flushes and ends, within this many milliseconds. */
  close(limitMs: number): Promise<void>;
}
