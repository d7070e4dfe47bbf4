import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { readExtras } from "../../sessions/messages/message-fields.ts";
import type { Run } from "../../storage/records.ts";
import type { Storage } from "../../storage/storage.ts";
import { readNewest } from "../follow/follow.ts";
import { isOver } from "../status.ts";
import { messagesOf, noteCost } from "./trace-events.ts";
import { newSpan, type SpanRecord } from "./span.ts";

type Kept = Pick<Storage, "checkpointer" | "ledger" | "requests">;

/**
 * The steps of a run, and the nodes of each, by the states that they have left at the root: for a run whose log does not
 * tell of them. A node has the times of its step, of which no more is known.
 */
export async function stepsOf({ checkpointer }: Kept, run: Run): Promise<SpanRecord[]> {
  const place = { configurable: { thread_id: run.session_id, checkpoint_ns: "" } };
  const states: CheckpointTuple[] = [];
  for await (const state of checkpointer.list(place, { filter: { run_id: run.run_id } })) states.push(state);
  states.reverse();
  let before = states[0]?.parentConfig && (await checkpointer.getTuple(states[0].parentConfig));
  const spans: SpanRecord[] = [];
  for (const state of states) {
    if (state.metadata?.source === "loop") spans.push(...stepOf(run, state, before));
    before = state;
  }
  return spans;
}

function stepOf(
  run: Run,
  { checkpoint, metadata }: CheckpointTuple,
  before: CheckpointTuple | undefined,
): SpanRecord[] {
  const seen = before?.checkpoint.versions_seen ?? {};
  const names = Object.entries(checkpoint.versions_seen).flatMap(([name, versions]) => {
    const isNew = Object.entries(versions).some(([channel, version]) => seen[name]?.[channel] !== version);
    return name.startsWith("__") || !isNew ? [] : [name];
  });
  // What only takes in the input is no step of the graph's own.
  if (names.length === 0) return [];
  // A step that goes on from what another run has left begins with its own run.
  const begun = Date.parse(run.started_at ?? run.created_at);
  const start = Math.max(begun, Date.parse(before?.checkpoint.ts ?? run.created_at));
  const end = Date.parse(checkpoint.ts);
  const times = { start: Math.min(start, end), end, status: "success", source: "checkpoint" } as const;
  const id = `${run.run_id}:${checkpoint.id}`;
  const about = { id, parent: run.run_id, kind: "step", name: `step ${metadata?.step ?? 0}` } as const;
  const step = newSpan({ ...times, ...about, checkpoint_id: checkpoint.id });
  const nodes = names.map((name) =>
    newSpan({ ...times, id: `${id}:${name}`, parent: id, kind: "node", name, node: name }),
  );
  return [step, ...nodes];
}

/** The tool calls of a run that the ledger knows: for a run whose log does not tell of them. */
export async function callsOf({ ledger }: Kept, run: Run): Promise<SpanRecord[]> {
  const calls = await ledger.list(run.session_id);
  return calls
    .filter(({ run_id }) => run_id === run.run_id)
    .map(({ tool_call_id, tool, state, started_at, finished_at }) =>
      newSpan({
        id: tool_call_id,
        parent: run.run_id,
        kind: "tool",
        name: tool,
        start: Date.parse(started_at),
        end: finished_at === null ? null : Date.parse(finished_at),
        status: state === "finished" ? "success" : "running",
        tool_call_id,
        source: "ledger",
      }),
    );
}

/**
 * The model calls of a run by their replies in the session's newest state: for a run whose log does not tell of them. Each
 * began when its first request was sent, where that is kept.
 */
export async function repliesOf({ checkpointer, requests }: Kept, run: Run): Promise<SpanRecord[]> {
  const messages = messagesOf((await readNewest({ checkpointer }, run.session_id))?.values);
  const asked = new Map<string | null, number>();
  // The newest request comes first: of those of one call, the oldest stays.
  for (const { model_call_id, asked_at } of await requests.calls(run.session_id, run.run_id)) {
    asked.set(model_call_id, Date.parse(asked_at));
  }
  return messages.flatMap((message) => {
    const { llm_metadata: told, timestamp } = readExtras(message);
    if (told?.["run_id"] !== run.run_id || message.id === undefined) return [];
    const time = Date.parse(timestamp ?? "");
    const about = { id: message.id, parent: run.run_id, kind: "model", name: "model", message_id: message.id } as const;
    const span = newSpan({ ...about, end: Number.isNaN(time) ? null : time, status: "success", source: "state" });
    noteCost(span, message);
    if (span.model_call_id !== null) span.start = asked.get(span.model_call_id) ?? null;
    return [span];
  });
}

/** The spans of a log and those kept elsewhere, in the order of their times, each call below the node that made it. */
export function joinSpans(log: readonly SpanRecord[], kept: readonly SpanRecord[], run: Run): SpanRecord[] {
  if (kept.length === 0) return [...log];
  const spans = [...kept, ...log];
  // A run that goes on is in a step that has left no state yet.
  if (isOver(run.status)) {
    placeByTime(spans, kept, run);
    startAfterCalls(log, kept);
    startAfterOthers(spans);
  }
  const timeOf = ({ start, end }: SpanRecord): number => start ?? end ?? Infinity;
  return spans.toSorted((one, other) => timeOf(one) - timeOf(other));
}

/** A log without tool calls lets a model call begin with the reply before it; it began when the calls between were over. */
function startAfterCalls(log: readonly SpanRecord[], kept: readonly SpanRecord[]): void {
  const calls = kept.filter(({ kind }) => kind === "tool");
  for (const span of log) {
    const said = span.first_token ?? span.end;
    if (span.kind !== "model" || span.start === null || said === null) continue;
    for (const { parent, end } of calls) {
      if (parent === span.parent && end !== null && end > span.start && end <= said) span.start = end;
    }
  }
}

/** A model call whose request is not kept began when its node had nothing else to do any more. */
function startAfterOthers(spans: readonly SpanRecord[]): void {
  for (const span of spans) {
    const { kind, parent, end } = span;
    if (kind !== "model" || span.start !== null || end === null) continue;
    const around = spans.find(({ id }) => id === parent)?.start ?? null;
    const before = spans.flatMap((other) =>
      other !== span && other.parent === parent && other.end !== null && other.end <= end ? other.end : [],
    );
    const times = around === null ? before : [around, ...before];
    if (times.length > 0) span.start = Math.min(end, Math.max(...times));
  }
}

/** Puts calls that hang on the run itself below the node, or the step, in whose time they were. */
function placeByTime(spans: readonly SpanRecord[], kept: readonly SpanRecord[], run: Run): void {
  const steps = spans.filter(({ kind, parent }) => kind === "step" && parent === run.run_id);
  const nodes = Map.groupBy(
    spans.filter(({ kind }) => kind === "node"),
    ({ parent }) => parent,
  );
  // A log that tells of steps knows where its own calls belong.
  const isPlaced = steps.some(({ source }) => source === "log");
  for (const span of isPlaced ? kept : spans) {
    const time = span.end ?? span.start;
    if (span.parent !== run.run_id || span.kind === "step" || span.kind === "wait" || time === null) continue;
    const step = steps.find(({ start, end }) => start !== null && end !== null && start <= time && time <= end);
    const [node, ...others] = nodes.get(step?.id ?? null) ?? [];
    const around = node !== undefined && others.length === 0 ? node : step;
    if (around === undefined) continue;
    span.parent = around.id;
    span.node ??= around.node;
  }
}
