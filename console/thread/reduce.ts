import * as z from "zod/mini";
import { blockAfter, closed, newCall, readArguments, withCall } from "./blocks.ts";
import { CustomData, LifecycleData, MessageData, outputText, ToolData, type ThreadEvent } from "./events.ts";
import { endOf } from "./endings.ts";
import { isOver, type AssistantItem, type Item, type ThreadState } from "./items.ts";
import { editable, inBatch } from "./editable.ts";
import { noteOf } from "./notes.ts";

/**
 * The conversation after an event. Pure, and the same event twice changes nothing more: what an event says replaces what
 * its predecessors said, by the ids of message, block and call.
 */
export function reduce(state: ThreadState, event: ThreadEvent): ThreadState {
  if (event.seq !== undefined && event.seq <= state.seq) return state;
  const next = event.seq === undefined ? state : { ...state, seq: event.seq };
  switch (event.method) {
    case "messages":
      return onMessage(next, event);
    case "tools":
      return onTool(next, event);
    case "lifecycle":
      return onLifecycle(next, event);
    case "custom":
      return onCustom(next, event);
    default:
      return next;
  }
}

/** The conversation after events in their order. */
export function reduceAll(state: ThreadState, events: readonly ThreadEvent[]): ThreadState {
  return inBatch(() => events.reduce(reduce, state));
}

/** The call of the agent that speaks at this place, if one does. */
function parentOf(state: ThreadState, namespace: readonly string[]): string | undefined {
  for (let length = namespace.length; length > 0; length -= 1) {
    const call = state.agents.get(namespace.slice(0, length).join("|"));
    if (call !== undefined) return call;
  }
  return undefined;
}

/** Puts an item in the place of the one with its id, or at the end. */
export function withItem(state: ThreadState, item: Item, parent?: string): ThreadState {
  const isKnown = state.items.has(item.id);
  const items = editable(state.items).set(item.id, item);
  if (isKnown) return { ...state, items };
  if (parent === undefined) return { ...state, items, order: [...state.order, item.id] };
  // A run that begins again after a crash says the same again.
  const others = (state.inside.get(parent) ?? []).filter((id) => id !== item.id);
  const inside = new Map(state.inside).set(parent, [...others, item.id]);
  return { ...state, items, inside };
}

function onMessage(state: ThreadState, event: ThreadEvent): ThreadState {
  const data = z.safeParse(MessageData, event.data).data;
  if (data === undefined) return state;
  if (data.event === "message-start") {
    // What is known as a whole is not told again, and what users said has a way of its own.
    if (state.items.has(data.id) || data.role !== "ai") return state;
    // A new page gets the events of a finished run again: what it streamed and did not keep is not shown.
    if (event.runId !== undefined && state.ended.has(event.runId)) return state;
    const parent = parentOf(state, event.namespace);
    const item: AssistantItem = {
      kind: "assistant",
      id: data.id,
      blocks: [],
      isStreaming: true,
      stopReason: "",
      isPartial: false,
      runId: event.runId,
      timestamp: new Date(event.timestamp).toISOString(),
      parent,
      suggestions: undefined,
      sources: [],
    };
    return withItem(state, item, parent);
  }
  const item = state.items.get(data.run_id);
  if (item?.kind !== "assistant" || !item.isStreaming) return state;
  if (data.event === "message-finish") {
    const blocks = item.blocks.map((block) => closed(block, event.timestamp));
    return withItem(state, { ...item, blocks, isStreaming: false });
  }
  const changed = blockAfter(state, item, data, event);
  if (changed === undefined) return state;
  const isKnown = data.index < item.blocks.length;
  const blocks = isKnown ? item.blocks.with(data.index, changed.block) : [...item.blocks, changed.block];
  return withItem(changed.state, { ...item, blocks });
}

function onTool(state: ThreadState, event: ThreadEvent): ThreadState {
  const data = z.safeParse(ToolData, event.data).data;
  if (data === undefined) return state;
  const call = state.calls.get(data.tool_call_id) ?? newCall(data.tool_call_id, data.tool_name ?? "", event.runId);
  if (isOver(call)) return state;
  switch (data.event) {
    case "tool-started": {
      const args = readArguments(data.input) ?? call.args;
      return withCall(state, {
        ...call,
        name: data.tool_name ?? call.name,
        args,
        status: "running",
        startedAt: call.startedAt ?? event.timestamp,
      });
    }
    case "tool-output-delta":
      return withCall(state, { ...call, output: call.output + (data.delta ?? "") });
    case "tool-finished":
      return withCall(state, { ...call, status: "done", result: outputText(data.output), endedAt: event.timestamp });
    case "tool-error": {
      const result = data.message ?? "";
      const status = endOf(result) === "refused" ? "refused" : "failed";
      return withCall(state, { ...call, status, result, endedAt: event.timestamp });
    }
    default:
      return state;
  }
}

function onLifecycle(state: ThreadState, event: ThreadEvent): ThreadState {
  const data = z.safeParse(LifecycleData, event.data).data;
  if (data === undefined) return state;
  if (event.namespace.length > 0) {
    const call = data.cause?.tool_call_id;
    if (data.event !== "started" || call === undefined) return state;
    return { ...state, agents: new Map(state.agents).set(event.namespace.join("|"), call) };
  }
  if (data.event === "running" || data.event === "started") {
    return { ...withoutUnfinished(state, event.runId), isBusy: true, runId: event.runId };
  }
  return ended(state, event, data);
}

/** A run that begins again after a crash says anew what it was about to say, and so do its calls. */
function withoutUnfinished(state: ThreadState, runId: string | undefined): ThreadState {
  const items = editable(state.items);
  for (const item of items.values()) {
    if (item.kind === "assistant" && item.isStreaming && item.runId === runId) items.delete(item.id);
  }
  const calls = editable(state.calls);
  for (const call of calls.values()) {
    if (call.runId === runId && !isOver(call) && call.output !== "") calls.set(call.id, { ...call, output: "" });
  }
  return { ...state, items, calls, order: state.order.filter((id) => items.has(id)) };
}

/** A run is over: what it left open is closed, and cut off where it was stopped. */
function ended(
  state: ThreadState,
  event: ThreadEvent,
  { event: how, error }: { event: string; error?: string | undefined },
): ThreadState {
  const runId = event.runId;
  const items = editable(state.items);
  for (const item of items.values()) {
    if (item.kind !== "assistant" || !item.isStreaming || item.runId !== runId) continue;
    items.set(item.id, {
      ...item,
      isStreaming: false,
      blocks: item.blocks.map((block) => closed(block, event.timestamp)),
    });
  }
  const calls = editable(state.calls);
  for (const call of calls.values()) {
    if (call.runId !== runId || isOver(call) || call.status === "waiting") continue;
    calls.set(call.id, { ...call, status: "cut", endedAt: event.timestamp });
  }
  const isOther = state.runId !== undefined && state.runId !== runId;
  const isBusy = isOther ? state.isBusy : false;
  const over = { ...state, items, calls, isBusy, runId: isOther ? state.runId : undefined };
  // What was said before a question is kept as a message only when the run that carries the answer has passed it.
  const waits = how === "interrupted";
  const known = runId === undefined ? [] : [runId];
  const next = {
    ...over,
    ended: waits ? state.ended : new Set([...state.ended, ...state.waiting, ...known]),
    waiting: waits ? new Set([...state.waiting, ...known]) : new Set<string>(),
  };
  if (error === undefined) return next;
  return withItem(next, { kind: "error", id: `error.${runId ?? event.timestamp}`, text: error, runId });
}

const Usage = z.object({ ratio: z.number() });
const Status = z.object({ tool_call_id: z.string(), status: z.string() });
const SubAgent = z.object({
  agent_id: z.string(),
  agent_name: z.string(),
  task: z.string(),
  tool_call_id: z.optional(z.string()),
});
const ByAgent = z.object({ agent: z.object({ id: z.string() }) });

function onCustom(state: ThreadState, event: ThreadEvent): ThreadState {
  const payload = z.safeParse(CustomData, event.data).data?.payload;
  if (payload === undefined) return state;
  const agent = z.safeParse(ByAgent, payload).data?.agent.id;
  if (agent !== undefined) return onAgent(state, event, agent, payload);
  switch (payload.type) {
    case "context_usage": {
      const ratio = z.safeParse(Usage, payload).data?.ratio;
      return ratio === undefined ? state : { ...state, usage: ratio };
    }
    case "tool_status":
      return withStatus(state, payload);
    case "subagent_started":
      return withAgent(state, event, payload);
    default: {
      const note = noteOf(payload);
      if (note === undefined) return state;
      const id = `note.${event.runId ?? ""}.${event.seq ?? event.timestamp}`;
      return withItem(state, { kind: "note", id, ...note, runId: event.runId });
    }
  }
}

function withStatus(state: ThreadState, payload: unknown): ThreadState {
  const update = z.safeParse(Status, payload).data;
  const call = update && state.calls.get(update.tool_call_id);
  if (call === undefined || update?.status !== "awaiting_confirmation") return state;
  return isOver(call) ? state : withCall(state, { ...call, status: "waiting" });
}

/** An agent begins: what it says belongs to the call that it works for. */
function withAgent(state: ThreadState, event: ThreadEvent, payload: unknown): ThreadState {
  const agent = z.safeParse(SubAgent, payload).data;
  const call = agent?.tool_call_id ?? parentOf(state, event.namespace);
  const known = call === undefined ? undefined : state.calls.get(call);
  if (agent === undefined || known === undefined) return state;
  const { agent_id: id, agent_name: name, task } = agent;
  const others = known.agents.filter((agent) => agent.id !== id);
  const agents = new Map(state.agents).set(id, known.id);
  return withCall({ ...state, agents }, { ...known, agents: [...others, { id, name, task }] });
}

/** Something of an agent: from then on it is known where it works. Its window and its plan are not those of the thread. */
function onAgent(state: ThreadState, event: ThreadEvent, agent: string, payload: { type: string }): ThreadState {
  const call = state.agents.get(agent);
  const place = event.namespace.join("|");
  const isNew = call !== undefined && place !== "" && !state.agents.has(place);
  const next = isNew ? { ...state, agents: new Map(state.agents).set(place, call) } : state;
  if (payload.type === "tool_status") return withStatus(next, payload);
  // It may hand parts of its work on.
  return payload.type === "subagent_started" ? withAgent(next, event, payload) : next;
}
