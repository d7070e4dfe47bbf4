import { AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { isCheckpointEnvelope, type StreamMode as GraphStreamMode } from "@langchain/langgraph/web";
import { isAIMessage, isBaseMessage, isBaseMessageChunk, messageText } from "../../message-kinds.ts";
import type { RunEvent, StreamMode } from "../../run-events.ts";
import { toWireCheckpoint, toWireDebug, toWireTask, toWireTool } from "./debug-payload.ts";
import type { EventBody } from "./log.ts";
import { readStored } from "../../storage/events/follow-events.ts";
import { z } from "zod";
import type { EventStore } from "../../storage/storage.ts";

/** What LangGraph gives for one chunk when it streams several modes with subgraphs. */
export type GraphChunk = [namespace: string[], mode: string, payload: unknown];

/** The stream transformers of a graph in one execution; they get all of its chunks. */
export interface Projections {
  onChunk(chunk: GraphChunk): void;
  /** The graph has ended by itself; resolves when their last values are in the log. */
  ended(): Promise<void>;
  brokeOff(error: unknown): void;
}

/** Starts the stream transformers of a graph, where it has any; `failed` is called for one that throws. Never throws. */
export type Project = (execution: {
  graph: object;
  signal: AbortSignal;
  emit: (event: EventBody) => void;
  failed: (error: unknown) => void;
}) => Projections | undefined;

/** What a run has to ask of LangGraph so that its readers get the modes they asked for. */
export interface StreamPlan {
  modes: GraphStreamMode[];
  subgraphs: boolean;
}

/** LangGraph's modes for each mode of the wire. */
const neededModes: Readonly<Record<StreamMode, readonly GraphStreamMode[]>> = {
  values: ["values"],
  updates: ["updates"],
  custom: ["custom"],
  debug: ["debug"],
  tasks: ["tasks"],
  checkpoints: ["checkpoints"],
  "messages-tuple": ["messages"],
  messages: ["messages", "values"],
  lifecycle: ["tasks"],
  // The calls of our own loop come as custom events.
  tools: ["tools", "custom"],
  events: [],
};

/**
 * The cheapest set of LangGraph modes that yields `requested`. `messages` and `custom` of nested graphs come only with
 * `subgraphs`, which `hasLoop` asks for: our loop is such a graph, and what it says is the conversation's. Whole
 * messages of the older `messages` mode come from `values`; and a pause is only streamed by `values` or `updates`, so one
 * of the two is always among them.
 */
export function planStream(requested: readonly StreamMode[], streamSubgraphs: boolean, hasLoop: boolean): StreamPlan {
  const modes = new Set<GraphStreamMode>();
  for (const mode of requested) for (const needed of neededModes[mode]) modes.add(needed);
  if (!modes.has("values") && !modes.has("updates")) modes.add("updates");
  // The agent's messages are always streamed: a stop keeps them, and the session's status shows them.
  if (hasLoop) modes.add("messages").add("custom");
  const looksInside = hasLoop || requested.includes("lifecycle");
  return { modes: [...modes], subgraphs: streamSubgraphs || looksInside };
}

function messagesIn(payload: unknown): BaseMessage[] {
  if (typeof payload !== "object" || payload === null || !("messages" in payload)) return [];
  const { messages } = payload;
  const list: unknown[] = Array.isArray(messages) ? messages : [messages];
  return list.filter((message) => isBaseMessage(message));
}

/** The three events of the older `messages` mode, which LangGraph does not give as such. */
function createMessageEvents(): { ofChunk(payload: unknown): EventBody[]; ofValues(payload: unknown): EventBody[] } {
  const begun = new Set<string>();
  const complete = new Set<string>();
  return {
    ofChunk(payload) {
      // LangGraph's `messages` mode always gives a pair of message and metadata.
      const [message, metadata] = payload as [BaseMessage, Record<string, unknown>];
      // Whole messages come with the state they belong to; only what a model streams is partial.
      if (message.id === undefined || !isBaseMessageChunk(message)) return [];
      const partial: EventBody = { event: "messages/partial", namespace: [], data: message };
      if (begun.has(message.id)) return [partial];
      begun.add(message.id);
      return [{ event: "messages/metadata", namespace: [], data: { [message.id]: { metadata } } }, partial];
    },
    ofValues(payload) {
      const news = messagesIn(payload).filter((message) => message.id !== undefined && !complete.has(message.id));
      for (const message of news) if (message.id !== undefined) complete.add(message.id);
      return news.length === 0 ? [] : [{ event: "messages/complete", namespace: [], data: news }];
    },
  };
}

/**
 * Whether what a step says is not for readers. LangGraph itself keeps back only the tokens of a model with these tags,
 * not the message that its node returns.
 */
function isSilent({ tags }: Record<string, unknown>): boolean {
  return Array.isArray(tags) && (tags.includes("nostream") || tags.includes("langsmith:nostream"));
}

/**
 * Makes the translator of one run's chunks into its events, in order. Without `streamSubgraphs`, messages and custom
 * events of nested graphs appear as the root's own, and everything else of theirs is dropped. It remembers only
 * which message ids it has emitted; `emitted` is what former attempts have, which is not emitted again. With `envelopes`
 * the checkpoint that comes before each state is emitted too.
 */
export function createTranslator(
  requested: readonly StreamMode[],
  streamSubgraphs: boolean,
  emitted: EmittedMessages = new Map(),
  envelopes = false,
): (chunk: GraphChunk) => EventBody[] {
  const asked = new Set<string>(requested);
  const older = asked.has("messages") ? createMessageEvents() : undefined;
  const envelope = (path: string[], payload: unknown): EventBody[] =>
    envelopes ? [{ event: "checkpoint", namespace: path, data: payload }] : [];
  return ([path, mode, payload]) => {
    // LangGraph streams a checkpoint in two forms: whole, and by its name alone, before the state that it holds.
    if (mode === "checkpoints" && isCheckpointEnvelope(payload)) return envelope(path, payload);
    const nested = path.length > 0;
    const namespace = streamSubgraphs ? path : [];
    if (mode === "messages") {
      // LangGraph's `messages` mode always gives a pair of message and metadata.
      const [message, metadata] = payload as [BaseMessage, Record<string, unknown>];
      // Among the root's own, an agent's words would be taken for the reply.
      if (isSilent(metadata) || (!streamSubgraphs && "sub_agent" in metadata)) return [];
      const events: EventBody[] = older?.ofChunk(payload) ?? [];
      const data = asked.has("messages-tuple") ? notYetEmitted(message, emitted) : undefined;
      if (data !== undefined) events.push({ event: "messages", namespace, data, metadata });
      return events;
    }
    // The event protocol reads our loop's own events itself.
    if (mode === "custom") return customEvents(asked, { namespace, payload, tools: !envelopes });
    if (nested && !streamSubgraphs) return [];
    if (mode === "values") {
      const complete = older?.ofValues(payload) ?? [];
      if (!asked.has("values")) return complete;
      // The state of a graph is an object of its channels, also where it is only `__interrupt__`.
      return [{ event: "values", namespace, data: payload as Record<string, unknown> }, ...complete];
    }
    return asked.has(mode) ? plainEvents(mode, namespace, payload) : [];
  };
}

/** An event of the `custom` stream; for a call of our own loop also the event of the mode `tools`. */
function customEvents(
  asked: ReadonlySet<string>,
  { namespace, payload, tools }: { namespace: string[]; payload: unknown; tools: boolean },
): EventBody[] {
  const events: EventBody[] = asked.has("custom") ? [{ event: "custom", namespace, data: payload }] : [];
  const call = tools && asked.has("tools") ? toToolEvent(payload) : undefined;
  return call === undefined ? events : [{ event: "tools", namespace, data: call }, ...events];
}

/** Events of the modes whose chunks need nothing but another form. */
function plainEvents(mode: string, namespace: string[], payload: unknown): EventBody[] {
  switch (mode) {
    case "updates":
      // An update is an object keyed by node.
      return [{ event: "updates", namespace, data: payload as Record<string, unknown> }];
    case "debug":
      return [{ event: "debug", namespace, data: toWireDebug(payload) }];
    case "tools":
      return [{ event: "tools", namespace, data: toWireTool(payload) }];
    case "tasks":
      return [{ event: "tasks", namespace, data: toWireTask(payload) }];
    case "checkpoints":
      return [{ event: "checkpoints", namespace, data: toWireCheckpoint(payload) }];
    default:
      return [];
  }
}

const Called = z.object({
  type: z.literal("agentic_loop.tool_called"),
  tool_call_id: z.string(),
  tool_name: z.string(),
  arguments: z.unknown(),
});
const Ended = z.object({
  type: z.literal("agentic_loop.tool_result"),
  tool_call_id: z.string(),
  tool_name: z.string(),
  success: z.boolean(),
  result_preview: z.string(),
});
const OfCall = z.discriminatedUnion("type", [Called, Ended]);

/**
 * A call of our own loop in the form of the wire's mode `tools`; `undefined` for any other custom event. The output is
 * a preview: the whole is the message that follows.
 */
function toToolEvent(custom: unknown): object | undefined {
  const { data: event } = OfCall.safeParse(custom);
  if (event === undefined) return undefined;
  const call = { toolCallId: event.tool_call_id, name: event.tool_name };
  if (event.type === "agentic_loop.tool_called") {
    return { event: "on_tool_start", ...call, input: JSON.stringify(event.arguments) };
  }
  return event.success
    ? { event: "on_tool_end", ...call, output: event.result_preview }
    : { event: "on_tool_error", ...call, error: event.result_preview };
}

/** The text that readers have of each message, by its id. */
export type EmittedMessages = Map<string, string>;

/** What the former attempts of a run have streamed of messages. */
export async function readEmittedMessages(
  events: EventStore,
  runId: string,
  signal: AbortSignal,
): Promise<EmittedMessages> {
  const emitted: EmittedMessages = new Map();
  for await (const batch of readStored(events, runId, -1, signal)) for (const event of batch) addEvent(emitted, event);
  return emitted;
}

function addEvent(emitted: EmittedMessages, event: RunEvent): void {
  if (event.event !== "messages" || !isBaseMessage(event.data)) return;
  const { id } = event.data;
  if (id !== undefined) emitted.set(id, (emitted.get(id) ?? "") + messageText(event.data));
}

/**
 * What readers still lack of a message that a resumed run gives as a whole: LangGraph does not know that its words were
 * streamed before the crash, and readers concatenate what they get under one id. `undefined`: nothing.
 */
export function notYetEmitted(message: BaseMessage, emitted: EmittedMessages): BaseMessage | undefined {
  const before = message.id === undefined || isBaseMessageChunk(message) ? undefined : emitted.get(message.id);
  if (message.id === undefined || before === undefined) return message;
  const text = messageText(message);
  const rest = isAIMessage(message) && text.startsWith(before) ? text.slice(before.length) : "";
  emitted.set(message.id, before + rest);
  return rest === "" ? undefined : new AIMessageChunk({ id: message.id, content: rest });
}
