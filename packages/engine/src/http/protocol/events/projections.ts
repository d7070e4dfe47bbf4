import { createGraphRunStream, isNativeTransformer, type StreamTransformer } from "@langchain/langgraph";
import type { StreamMode } from "@langchain/langgraph/web";
import { z } from "zod";
import type { GraphChunk, Project } from "../../../runs/events/to-events.ts";
import { unlessAborted } from "../../../concurrency/unless-aborted.ts";
import { createMessageStreams, type MessageStreams } from "./messages.ts";
import type { ProtocolBody } from "./protocol-event.ts";

/** Milliseconds that the last values of transformers may take when everything else has been told. */
const patience = 5_000;
/** What LangGraph calls the channels that transformers push to. */
const pushed = "custom:";

const Factories = z.array(z.custom<() => StreamTransformer>((value) => typeof value === "function"));
const EndedTask = z.looseObject({ id: z.string(), result: z.unknown() });

/**
 * Lets the stream transformers of a graph see what a run tells, as LangGraph's own stream of the protocol would show it, and
 * tells what they make of it: what they push to a channel as it comes, what they promise before the run's end. LangGraph's own
 * multiplexer runs them; a graph that has none costs nothing. One that fails loses its values, not the run.
 */
export const project: Project = ({ graph, signal, tell, failed }) => {
  const source = createSource();
  const stream = withTransformers(graph, source.chunks, failed);
  if (stream === undefined) return undefined;
  const messages = createMessageStreams((path) => path);
  /** Payloads that the graph itself has told: they come out again as they went in. */
  const told = new WeakSet<object>();
  let isOver = false;
  const read = async (): Promise<void> => {
    for await (const { method, params } of stream) {
      const data = dataOf(method, params.data, told);
      if (data !== undefined && !isOver) tell({ event: "custom", namespace: params.namespace, data });
    }
  };
  const reading = read().catch((error: unknown) => {
    if (!isOver) failed(error);
  });
  return {
    heard(chunk) {
      const [, mode, payload] = chunk;
      if (mode === "custom" && typeof payload === "object" && payload !== null) told.add(payload);
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

/** The graph's own transformers at work; those that LangChain's agents bring are for who runs them in the same process. */
function withTransformers(graph: object, chunks: AsyncIterable<GraphChunk>, failed: (error: unknown) => void) {
  const factories = Factories.safeParse("streamTransformers" in graph ? graph.streamTransformers : []).data ?? [];
  if (factories.length === 0) return undefined;
  try {
    const made = factories.map((make) => make()).filter((transformer) => !isNativeTransformer(transformer));
    // LangGraph wants to make each itself.
    const transformers = made.map((transformer) => (): StreamTransformer => transformer);
    if (made.length === 0) return undefined;
    // They are chunks of LangGraph's: their modes are its own.
    return createGraphRunStream(chunks as AsyncIterable<[string[], StreamMode, unknown]>, transformers);
  } catch (error) {
    failed(error);
    return undefined;
  }
}

/** Chunks that are given one by one, for LangGraph to read. */
function createSource() {
  let controller: ReadableStreamDefaultController<GraphChunk> | undefined;
  const chunks = new ReadableStream<GraphChunk>({
    start(started) {
      controller = started;
    },
    // A transformer has thrown: nobody reads any more.
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

/** A chunk as the stream of the protocol has it: there, messages are told in blocks, and end with their task. */
function asProtocol([namespace, mode, payload]: GraphChunk, messages: MessageStreams): GraphChunk[] {
  if (mode === "messages") {
    // LangGraph's `messages` mode always gives a pair of message and metadata.
    const [data, metadata] = payload as [unknown, Record<string, unknown>];
    return messages.tell({ id: 0, event: "messages", namespace, data, metadata }).map(messageChunk);
  }
  const task = mode === "tasks" ? EndedTask.safeParse(payload).data : undefined;
  const ended = task !== undefined && "result" in task ? messages.taskEnded(task.id) : [];
  return [...ended.map(messageChunk), [namespace, mode, payload]];
}

function messageChunk({ namespace, node, data }: ProtocolBody): GraphChunk {
  return [namespace, "messages", [data, { langgraph_node: node }]];
}

/** What a transformer has made, as a payload that names its channel; `undefined` for what the graph told. */
function dataOf(method: string, data: unknown, told: WeakSet<object>): object | undefined {
  if (method.startsWith(pushed)) return { name: method.slice(pushed.length), payload: data };
  const isMade = method === "custom" && typeof data === "object" && data !== null && "name" in data && !told.has(data);
  return isMade ? data : undefined;
}
