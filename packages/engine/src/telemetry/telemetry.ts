import type { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import type { MetricFamily } from "../metrics/families.ts";
import type { Run } from "../storage/records.ts";

/** The spans of one attempt of a run. */
export interface RunTrace {
  traceId: string;
  /** Makes the spans of nodes, model calls and tool calls; `undefined` for a trace that is not recorded. */
  handler: BaseCallbackHandler | undefined;
  /** Ends the span of the run, and those that a stop has left open. `error`: the kind of failure. */
  end(outcome: { status: string; error?: string | undefined }): void;
}

/** What the process tells an OpenTelemetry collector. */
export interface Telemetry {
  /** Begins the trace of an attempt. Absent where only metrics are exported. */
  traceRun?: ((run: Run) => RunTrace) | undefined;
  /** Begins to export the numbers of `GET /metrics`, where metrics are exported. */
  exportMetrics(families: () => Promise<readonly MetricFamily[]>): void;
  /** Sends what waits and ends, at the latest after so many milliseconds. */
  close(limitMs: number): Promise<void>;
}
