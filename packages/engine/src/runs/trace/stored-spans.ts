import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { z } from "zod";
import { isToolMessage, messageText } from "../../message-kinds.ts";
import { readExtras } from "../../sessions/messages/message-fields.ts";
import type { Run, ToolCallRecord } from "../../storage/records.ts";
import type { Storage } from "../../storage/storage.ts";
import { isOver } from "../status.ts";
import { messagesOf, addCost, repliesIn } from "./trace-events.ts";
import { newSpan, type SpanRecord } from "./span.ts";

type SpanSources = Pick<Storage, "checkpointer" | "ledger" | "requests">;

/**
 * The steps of a run, and the nodes of each, by the states that they have left at the root: for a run whose log does not
 * tell of them. A node has the times of its step, of which no more is known.
 */
export async function stepSpans({ checkpointer }: SpanSources, run: Run): Promise<SpanRecord[]> {
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

/** What a tool came to that did not do what it was asked. */
const FailedResult = z.object({ success: z.literal(false), errorType: z.string(), message: z.string() });

/** How a message begins that says that its call failed, and why. */
const failed = /^Error \((\w+)\)/u;

/**
 * The tool calls of a run, for a run whose log does not tell of them: those that the ledger knows, and those that never
 * began, for example of a tool that there is not, by their results in the session's newest `state`.
 */
export async function toolCallSpans({ ledger }: SpanSources, run: Run, state: unknown): Promise<SpanRecord[]> {
  const calls = await ledger.list(run.session_id);
  const asked = repliesOfRun(run, state).flatMap(({ id, tool_calls = [] }) =>
    tool_calls.map((call, index) => ({ id: call.id ?? "", name: call.name, ledger_id: `${id}/${index}` })),
  );
  const begun = calls.filter(({ run_id }) => run_id === run.run_id);
  const known = new Set(begun.map(({ tool_call_id }) => tool_call_id));
  const notStarted = new Map(asked.filter(({ ledger_id }) => !known.has(ledger_id)).map(({ id, name }) => [id, name]));
  const callIds = new Map(asked.map(({ id, ledger_id }) => [ledger_id, id]));
  return [
    ...begun.map((call) => spanOfCall(call, run, callIds.get(call.tool_call_id))),
    ...messagesOf(state).flatMap((message) => spanOfRefusal(message, run, notStarted)),
  ];
}

/** Agents' calls, which are not in the session, go by their id in the ledger. */
function spanOfCall(call: ToolCallRecord, { run_id: parent }: Run, callId = call.tool_call_id): SpanRecord {
  const { tool_call_id: id, tool: name, state, started_at, finished_at, result } = call;
  const failure = FailedResult.safeParse(result).data;
  const error = failure === undefined ? null : { error: failure.errorType, message: failure.message };
  const about = { id, parent, kind: "tool", name, tool_call_id: callId, source: "ledger", error } as const;
  return newSpan({
    ...about,
    start: Date.parse(started_at),
    end: finished_at === null ? null : Date.parse(finished_at),
    status: state === "started" ? "running" : error === null ? "success" : "error",
  });
}

function spanOfRefusal(message: BaseMessage, run: Run, notStarted: ReadonlyMap<string, string>): SpanRecord[] {
  if (!isToolMessage(message)) return [];
  const { tool_call_id: id } = message;
  const text = messageText(message);
  const [name, error] = [notStarted.get(id), failed.exec(text)?.[1]];
  if (name === undefined || error === undefined) return [];
  const time = Date.parse(readExtras(message).timestamp ?? "");
  const at = Number.isNaN(time) ? null : time;
  const about = { id, parent: run.run_id, kind: "tool", name, tool_call_id: id, source: "state" } as const;
  return [newSpan({ ...about, start: at, end: at, status: "error", error: { error, message: text } })];
}

/** What the models of a run have said, in the session's newest state. */
function repliesOfRun({ run_id }: Run, state: unknown): AIMessage[] {
  return repliesIn(state).filter((message) => readExtras(message).llm_metadata?.["run_id"] === run_id);
}

/**
 * The model calls of a run by their replies in the session's newest `state`: for a run whose log does not tell of them. Each
 * began when its first request was sent, where that is kept.
 */
export async function modelCallSpans({ requests }: SpanSources, run: Run, state: unknown): Promise<SpanRecord[]> {
  const asked = new Map<string | null, number>();
  // The newest request comes first: of those of one call, the oldest stays.
  for (const { model_call_id, asked_at } of await requests.calls(run.session_id, run.run_id)) {
    asked.set(model_call_id, Date.parse(asked_at));
  }
  return repliesOfRun(run, state).flatMap((message) => {
    if (message.id === undefined) return [];
    const time = Date.parse(readExtras(message).timestamp ?? "");
    const about = { id: message.id, parent: run.run_id, kind: "model", name: "model", message_id: message.id } as const;
    const span = newSpan({ ...about, end: Number.isNaN(time) ? null : time, status: "success", source: "state" });
    addCost(span, message);
    if (span.model_call_id !== null) span.start = asked.get(span.model_call_id) ?? null;
    return [span];
  });
}

/** The spans of a log and those kept elsewhere, in the order of their times, each call below the node that made it. */
export function mergeSpans(log: readonly SpanRecord[], kept: readonly SpanRecord[], run: Run): SpanRecord[] {
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
