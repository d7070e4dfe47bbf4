import { z } from "zod";
import { isOver } from "../status.ts";
import { RunStatus, type Run } from "../../storage/records.ts";

/** What a span is about. `wait`: the time in the queue. `retry`: something was tried again at this moment. */
const SpanKind = z.enum(["run", "step", "node", "model", "tool", "agent", "wait", "retry"]);

/** Tokens of a model call, or of all of a run. */
const SpanUsage = z.object({
  input_tokens: z.number(),
  output_tokens: z.number(),
  cached_tokens: z.number().describe("Of the input, those that the provider had kept"),
});
export type SpanUsage = z.infer<typeof SpanUsage>;

/** One part of a run with its time, as the wire shows it. */
export const Span = z
  .object({
    id: z.string(),
    parent: z.string().nullable(),
    kind: SpanKind,
    name: z.string(),
    node: z.string().nullable().describe("The node that it is, or is a part of"),
    namespace: z.array(z.string()).describe("The path of subgraphs; empty at the root"),
    checkpoint_id: z.string().nullable().describe("The state that a step has left, where that is known"),
    start: z.string().nullable().describe("null where only the end is known"),
    first_token: z.string().nullable().describe("When the first words, thoughts or calls of a model came"),
    end: z.string().nullable().describe("null while it goes on"),
    status: RunStatus.describe("`interrupted`: it was stopped, or waits for a person"),
    usage: SpanUsage.nullable(),
    cost: z.number().nullable().describe("In the unit of the run's price; null where no price was known"),
    model: z.string().nullable(),
    error: z.object({ error: z.string(), message: z.string() }).nullable(),
    message_id: z.string().nullable().describe("The reply of a model call"),
    model_call_id: z.string().nullable().describe("Of a model call; its `/requests` have the same"),
    tool_call_id: z.string().nullable(),
    payloads: z
      .object({ input: z.boolean(), output: z.boolean() })
      .describe("Whether `/trace/:span_id/input` and `/output` have something"),
    source: z
      .enum(["run", "log", "checkpoint", "ledger", "state"])
      .describe("Where it was read: the log says most; what a log does not hold comes from what else is kept"),
    seq: z.number().int().describe("The newest event that has changed it; -1 where it is not from the log"),
  })
  .meta({ ref: "Span" });
export type Span = z.infer<typeof Span>;

/** A span as it is gathered: times are milliseconds since 1970, and the payloads are the events that hold them. */
export interface SpanRecord extends Omit<Span, "start" | "first_token" | "end" | "payloads"> {
  start: number | null;
  first_token: number | null;
  end: number | null;
  /** When it was last heard of, while it goes on. */
  lastSeen: number | null;
  input: number | null;
  output: number | null;
}

/** A span that goes on and of which nothing but this is known. */
export function newSpan(known: Pick<SpanRecord, "id" | "kind" | "name" | "source"> & Partial<SpanRecord>): SpanRecord {
  return {
    parent: null,
    node: null,
    namespace: [],
    checkpoint_id: null,
    start: null,
    first_token: null,
    end: null,
    status: "running",
    usage: null,
    cost: null,
    model: null,
    error: null,
    message_id: null,
    model_call_id: null,
    tool_call_id: null,
    seq: -1,
    lastSeen: null,
    input: null,
    output: null,
    ...known,
  };
}

/**
 * A span as it is shown: what a run that is over has left open has ended with it. A run that failed may have been given up
 * long after its last sign of life.
 */
export function toSpan({ lastSeen, input, output, ...span }: SpanRecord, run: Run): Span {
  const isLeftOpen = span.status === "running" && isOver(run.status) && span.kind !== "run";
  const hasFailed = run.status === "error";
  const status = isLeftOpen ? (hasFailed ? "error" : "interrupted") : span.status;
  const over = (hasFailed ? lastSeen : null) ?? Date.parse(run.updated_at);
  const end = isLeftOpen ? over : span.end;
  return {
    ...span,
    status,
    start: toDate(span.start),
    first_token: toDate(span.first_token),
    end: toDate(end),
    payloads: { input: input !== null, output: output !== null },
  };
}

function toDate(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}

/** The spans of the run itself and of its wait in the queue. `spans` are all others, whose tokens and costs it sums up. */
export function runSpans(run: Run, spans: readonly SpanRecord[]): SpanRecord[] {
  const { run_id, graph_id, created_at, started_at, updated_at, status, error } = run;
  const begun = started_at === undefined ? null : Date.parse(started_at);
  const over = isOver(status) ? Date.parse(updated_at) : null;
  const calls = spans.filter(({ kind }) => kind === "model");
  const sum = (key: keyof SpanUsage): number => calls.reduce((total, { usage }) => total + (usage?.[key] ?? 0), 0);
  const costs = calls.flatMap(({ cost }) => cost ?? []);
  const whole = newSpan({
    id: run_id,
    kind: "run",
    name: graph_id,
    source: "run",
    start: Date.parse(created_at),
    end: over,
    status,
    error: error && { error: error.error, message: error.message },
    usage: calls.some(({ usage }) => usage !== null)
      ? { input_tokens: sum("input_tokens"), output_tokens: sum("output_tokens"), cached_tokens: sum("cached_tokens") }
      : null,
    cost: costs.length === 0 ? null : costs.reduce((total, cost) => total + cost, 0),
    input: 0,
  });
  const wait = newSpan({
    id: `${run_id}:queue`,
    parent: run_id,
    kind: "wait",
    name: "queue",
    source: "run",
    start: Date.parse(created_at),
    end: begun ?? over,
    status: begun !== null ? "success" : over === null ? "running" : "interrupted",
  });
  return [whole, wait];
}
