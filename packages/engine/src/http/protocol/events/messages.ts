import { type AIMessage, type BaseMessage, mergeUsageMetadata, type UsageMetadata } from "@langchain/core/messages";
import { z } from "zod";
import { isAIMessage, isBaseMessage, isBaseMessageChunk, kindOf } from "../../../message-kinds.ts";
import type { RunEvent } from "../../../run-events.ts";
import { type Blocks, createBlocks, piecesOf } from "./content-blocks.ts";
import type { ProtocolBody } from "./protocol-event.ts";
import { createGraphRunStream, isNativeTransformer, type StreamTransformer } from "@langchain/langgraph";
import type { StreamMode } from "@langchain/langgraph/web";
import type { GraphChunk, Project } from "../../../runs/events/to-events.ts";
import { unlessAborted } from "../../../concurrency/abort.ts";

/** A message still being written. */
interface OpenMessage {
  id: string;
  namespace: string[];
  node: string | undefined;
  /** The task that writes it. */
  task: string | undefined;
  blocks: Blocks;
  usage: UsageMetadata | undefined;
  reason: string | undefined;
}

type MessageEvent = Extract<RunEvent, { event: "messages" }>;

/** The messages of a run, as events of the channel `messages`. */
interface MessageStreams {
  /** One chunk, or a whole message. */
  emit(event: MessageEvent): ProtocolBody[];
  /** The run begins again after a crash: a message under the id of an unfinished one starts anew. */
  attemptBegan(): void;
  /** A task is over, and so are its messages. */
  taskEnded(task: string): ProtocolBody[];
  /** The run ended by itself. */
  runEnded(): ProtocolBody[];
}

/** Where a model was called, from the metadata of every message. */
const Origin = z.looseObject({
  langgraph_checkpoint_ns: z.string().optional(),
  langgraph_node: z.string().optional(),
  ls_provider: z.string().optional(),
  ls_model_name: z.string().optional(),
});
const Ended = z.looseObject({ finish_reason: z.string().optional(), stop_reason: z.string().optional() });

/**
 * Follows the messages of one run. LangGraph does not mark the end of a streamed message: it ends with its task. If a
 * task retries a message that broke off, the broken one stays open, and clients drop it with the run. `placeOf` gives
 * the namespace under which readers find the message.
 */
export function createMessageStreams(
  placeOf: (namespace: string[], metadata: Record<string, unknown>) => string[],
): MessageStreams {
  const open = new Map<string, OpenMessage>();
  const ended = new Set<string>();

  const body = ({ id, namespace, node }: OpenMessage, data: object): ProtocolBody => ({
    method: "messages",
    namespace,
    node,
    // The SDK separates concurrent messages by this id.
    data: { ...data, run_id: id },
  });
  const finish = (message: OpenMessage): ProtocolBody[] => {
    const { id, usage, reason } = message;
    open.delete(id);
    ended.add(id);
    return [
      ...message.blocks.close().map((data) => body(message, data)),
      body(message, { event: "message-finish", ...(reason && { reason }), ...(usage && { usage }) }),
    ];
  };
  const begin = (id: string, role: string, event: MessageEvent): { message: OpenMessage; events: ProtocolBody[] } => {
    const origin = Origin.safeParse(event.metadata).data ?? {};
    const path = origin.langgraph_checkpoint_ns?.split("|") ?? event.namespace;
    const message = opened(id, path, placeOf(path, event.metadata), origin.langgraph_node);
    open.set(id, message);
    const metadata = { provider: origin.ls_provider, model: origin.ls_model_name };
    const start = { event: "message-start", id, role, ...(origin.ls_provider && { metadata }) };
    return { message, events: [body(message, start)] };
  };
  const add = (message: OpenMessage, content: BaseMessage): ProtocolBody[] => {
    if (isAIMessage(content)) takeEnd(message, content);
    return piecesOf(content).flatMap((piece) => message.blocks.add(piece).map((data) => body(message, data)));
  };
  /** A task's newest message, after those that have ended. */
  const finishable = (messages: OpenMessage[]): OpenMessage[] =>
    messages.filter((message, index) => index === messages.length - 1 || message.reason !== undefined);

  return {
    emit(event) {
      const { data: content } = event;
      const role = isBaseMessage(content) ? roleOf(content) : undefined;
      if (!isBaseMessage(content) || content.id === undefined || role === undefined || ended.has(content.id)) return [];
      const known = open.get(content.id);
      const { message, events } = known === undefined ? begin(content.id, role, event) : { message: known, events: [] };
      if (isBaseMessageChunk(content)) return [...events, ...add(message, content)];
      // A whole message that was already streamed adds nothing.
      return known === undefined ? [...events, ...add(message, content), ...finish(message)] : finish(message);
    },
    attemptBegan: () => open.clear(),
    taskEnded: (task) => finishable([...open.values()].filter((message) => message.task === task)).flatMap(finish),
    runEnded() {
      const byTask = Map.groupBy(open.values(), ({ task, namespace }) => task ?? namespace.join("|"));
      return [...byTask.values()].flatMap(finishable).flatMap(finish);
    },
  };
}

function opened(id: string, path: string[], namespace: string[], node: string | undefined): OpenMessage {
  const task = path.at(-1)?.split(":").at(1);
  return { id, namespace, node, task, blocks: createBlocks(), usage: undefined, reason: undefined };
}

/** The role of a message emitted here; tool results go to the channel `tools`. */
function roleOf(message: BaseMessage): string | undefined {
  return ["ai", "human", "system"].find((role) => role === kindOf(message));
}

function takeEnd(message: OpenMessage, content: Pick<AIMessage, "usage_metadata" | "response_metadata">): void {
  if ("finish_reason" in content.response_metadata || "stop_reason" in content.response_metadata) {
    const { data: { finish_reason, stop_reason } = {} } = Ended.safeParse(content.response_metadata);
    message.reason = finish_reason ?? stop_reason ?? message.reason;
  }
  if (content.usage_metadata !== undefined) message.usage = mergeUsageMetadata(message.usage, content.usage_metadata);
}

/** Milliseconds for transformers to produce their last values after everything else was emitted. */
const patience = 5_000;
/** LangGraph's prefix for the channels that transformers push to. */
const pushed = "custom:";

const Factories = z.array(z.custom<() => StreamTransformer>((value) => typeof value === "function"));
const EndedTask = z.looseObject({ id: z.string(), result: z.unknown() });

/**
 * Feeds a run's events to the graph's stream transformers, as LangGraph's own protocol stream would, and emits their
 * output: pushes to a channel at once, promised values before the run's end. LangGraph's own multiplexer runs them; a
 * graph without transformers costs nothing. A failing transformer loses its values, not the run.
 */
export const project: Project = ({ graph, signal, emit, failed }) => {
  const source = createSource();
  const stream = withTransformers(graph, source.chunks, failed);
  if (stream === undefined) return undefined;
  const messages = createMessageStreams((path) => path);
  /** Payloads emitted by the graph itself: they come out unchanged. */
  const ownPayloads = new WeakSet<object>();
  let isOver = false;
  const read = async (): Promise<void> => {
    for await (const { method, params } of stream) {
      const data = dataOf(method, params.data, ownPayloads);
      if (data !== undefined && !isOver) emit({ event: "custom", namespace: params.namespace, data });
    }
  };
  const reading = read().catch((error: unknown) => {
    if (!isOver) failed(error);
  });
  return {
    onChunk(chunk) {
      const [, mode, payload] = chunk;
      if (mode === "custom" && typeof payload === "object" && payload !== null) ownPayloads.add(payload);
      for (const one of asProtocol(chunk, messages)) source.give(one);
    },
    async ended() {
      for (const body of messages.runEnded()) source.give(messageChunk(body));
      source.end();
      try {
        await unlessAborted(reading, AbortSignal.any([signal, AbortSignal.timeout(patience)]));
      } catch (error) {
        if (!signal.aborted) failed(error);
      }
      isOver = true;
    },
    brokeOff(error) {
      isOver = true;
      source.fail(error);
    },
  };
};

/** Runs the graph's own transformers; those of LangChain's agents only serve in-process callers. */
function withTransformers(graph: object, chunks: AsyncIterable<GraphChunk>, failed: (error: unknown) => void) {
  const factories = Factories.safeParse("streamTransformers" in graph ? graph.streamTransformers : []).data ?? [];
  if (factories.length === 0) return undefined;
  try {
    const made = factories.map((make) => make()).filter((transformer) => !isNativeTransformer(transformer));
    // LangGraph wants to create each itself.
    const transformers = made.map((transformer) => (): StreamTransformer => transformer);
    if (made.length === 0) return undefined;
    // The chunks come from LangGraph, so their modes are its own.
    return createGraphRunStream(chunks as AsyncIterable<[string[], StreamMode, unknown]>, transformers);
  } catch (error) {
    failed(error);
    return undefined;
  }
}

/** A queue of chunks for LangGraph to read. */
function createSource() {
  let controller: ReadableStreamDefaultController<GraphChunk> | undefined;
  const chunks = new ReadableStream<GraphChunk>({
    start(started) {
      controller = started;
    },
    // A transformer threw: there is no reader any more.
    cancel() {
      controller = undefined;
    },
  });
  return {
    chunks,
    give: (chunk: GraphChunk) => controller?.enqueue(chunk),
    end: () => controller?.close(),
    fail: (error: unknown) => controller?.error(error),
  };
}

/** A chunk in the form of the protocol's stream: messages come in blocks and end with their task. */
function asProtocol([namespace, mode, payload]: GraphChunk, messages: MessageStreams): GraphChunk[] {
  if (mode === "messages") {
    // LangGraph's `messages` mode always emits a pair of message and metadata.
    const [data, metadata] = payload as [unknown, Record<string, unknown>];
    return messages.emit({ id: 0, event: "messages", namespace, data, metadata }).map(messageChunk);
  }
  const task = mode === "tasks" ? EndedTask.safeParse(payload).data : undefined;
  const ended = task !== undefined && "result" in task ? messages.taskEnded(task.id) : [];
  return [...ended.map(messageChunk), [namespace, mode, payload]];
}

function messageChunk({ namespace, node, data }: ProtocolBody): GraphChunk {
  return [namespace, "messages", [data, { langgraph_node: node }]];
}

/** A transformer's output, as a payload that names its channel; `undefined` for the graph's own payloads. */
function dataOf(method: string, data: unknown, ownPayloads: WeakSet<object>): object | undefined {
  if (method.startsWith(pushed)) return { name: method.slice(pushed.length), payload: data };
  const isMade =
    method === "custom" && typeof data === "object" && data !== null && "name" in data && !ownPayloads.has(data);
  return isMade ? data : undefined;
}
