import { ROOT_CONTEXT, type Span, trace, type Tracer } from "@opentelemetry/api";
import { type IdGenerator, RandomIdGenerator } from "@opentelemetry/sdk-trace";
import type { Run } from "../storage/records.ts";
import { fail, SpanHandler } from "./span-handler.ts";
import type { RunTrace } from "./telemetry.ts";
import { readTraceparent } from "./traceparent.ts";

/** Generates span ids; a new trace has the id of its run, so that all attempts of a run share one trace. */
export class RunIds implements IdGenerator {
  readonly #random = new RandomIdGenerator();
  #next: string | undefined;

  generateTraceId(): string {
    return this.#next ?? this.#random.generateTraceId();
  }

  generateSpanId(): string {
    return this.#random.generateSpanId();
  }

  /** Starts a span; without a parent, in the trace of the run. */
  begin(runId: string, work: () => Span): Span {
    const hex = runId.replaceAll("-", "").toLowerCase();
    this.#next = /^[0-9a-f]{32}$/u.test(hex) ? hex : undefined;
    try {
      return work();
    } finally {
      this.#next = undefined;
    }
  }
}

/** Starts the trace of one attempt: below the span of the requesting client, if known. */
export function traceRun(tracer: Tracer, ids: RunIds, run: Run): RunTrace {
  const parent = readTraceparent(run.kwargs.request?.traceparent);
  const around =
    parent === undefined
      ? ROOT_CONTEXT
      : trace.setSpanContext(ROOT_CONTEXT, {
          traceId: parent.traceId,
          spanId: parent.spanId,
          traceFlags: parent.flags,
          isRemote: true,
        });
  const attributes = {
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.agent.id": run.assistant_id,
    "gen_ai.agent.name": run.graph_id,
    "gen_ai.conversation.id": run.session_id,
    "millrace.run.id": run.run_id,
    "millrace.run.attempt": run.attempt,
    ...(run.kwargs.request?.id !== undefined && { "millrace.request.id": run.kwargs.request.id }),
  };
  const begin = (): Span => tracer.startSpan(`invoke_agent ${run.graph_id}`, { attributes }, around);
  const span = ids.begin(run.run_id, begin);
  const handler = span.isRecording() ? new SpanHandler(tracer, trace.setSpan(around, span)) : undefined;
  return {
    traceId: span.spanContext().traceId,
    handler,
    end: ({ status, error }) => {
      handler?.endAll();
      span.setAttribute("millrace.run.status", status);
      if (error !== undefined) fail(span, error);
      span.end();
    },
  };
}
