import { agentGraphs, agentRuns } from "../../src/agent-runs/agent-run.ts";
import { setImmediate as nextTurn } from "node:timers/promises";
import { AIMessageChunk } from "@langchain/core/messages";
import { END, interrupt, MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { FakeStreamingChatModel } from "@langchain/core/utils/testing";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { z } from "zod";
import type { RunEvent } from "@millrace/engine/run-events";
import { Graphs } from "@millrace/engine/graphs/load";
import type { ServedGraph } from "@millrace/engine/graphs/served-graph";
import { createLogger } from "@millrace/engine/logger";
import type { SharedRunServices } from "../../src/loop/services.ts";
import type { RunRequest } from "@millrace/engine/runs/admission/draft";
import { Runs } from "@millrace/engine/runs/runs";
import type { Session } from "@millrace/engine/storage/records";
import type { Storage } from "@millrace/engine/storage/storage";
import { createLocks } from "../../src/tools/runtime/locks.ts";
import { createTestStorage, type TestStorage } from "../support/test-storage.ts";
import { toolkitParts } from "../support/toolkit-services.ts";

/** A gate that a node waits at and a test opens; the node's own signal opens it with a failure. */
export function createGate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  return {
    open: resolve,
    arrived: arrived.promise,
    pass: async (signal?: AbortSignal): Promise<void> => {
      arrived.resolve();
      const aborted = Promise.withResolvers<never>();
      const onAbort = (): void => aborted.reject(signal?.reason);
      if (signal?.aborted === true) onAbort();
      signal?.addEventListener("abort", onAbort);
      await Promise.race([promise, aborted.promise]).finally(() => signal?.removeEventListener("abort", onAbort));
    },
  };
}

export const State = new StateSchema({
  messages: MessagesValue,
  steps: z.array(z.string()).default([]),
});

export interface Harness {
  storage: TestStorage;
  runs: Runs;
  graphs: Graphs;
  session: Session;
}

/** A served set of graphs from compiled ones. */
export function serve(graphs: Record<string, unknown>, checkpointer: BaseCheckpointSaver): Graphs {
  const loaded = Object.entries(graphs).map(([id, value]) => {
    const graph = value as ServedGraph;
    graph.checkpointer = checkpointer;
    return [id, { graph, build: undefined }] as const;
  });
  return new Graphs(new Map(loaded), [], {}, agentGraphs);
}

export async function createSession(storage: Storage): Promise<Session> {
  const at = new Date().toISOString();
  const session_id = crypto.randomUUID();
  return storage.sessions.create({
    session_id,
    owner: null,
    created_at: at,
    updated_at: at,
    metadata: {},
    config: {},
    status: "idle",
    interrupts: {},
  });
}

export function createRuns(storage: Storage, graphs: Graphs, maxConcurrent = 8): Runs {
  const services: SharedRunServices = {
    ledger: storage.ledger,
    ...toolkitParts("/", storage.tasks),
    workspace: "/",
    locks: createLocks(),
    defaultModel: "offline",
    contextLimit: 1000,
    loadModel: () => new FakeStreamingChatModel({}),
  };
  const logger = createLogger("silent");
  const extension = agentRuns({ storage, logger, services });
  return new Runs({ storage, graphs, logger, extension, maxConcurrent, retryDelay: 1 });
}

export async function createHarness(graphs: Record<string, unknown>, storage = createTestStorage()): Promise<Harness> {
  const served = serve(graphs, storage.checkpointer);
  return { storage, graphs: served, runs: createRuns(storage, served), session: await createSession(storage) };
}

export function request(assistant: string, patch: Partial<RunRequest> = {}): RunRequest {
  return {
    assistant,
    input: { messages: [{ role: "user", content: "hello" }] },
    config: {},
    context: {},
    metadata: {},
    stream_mode: ["values"],
    stream_subgraphs: false,
    stream_resumable: false,
    temporary: false,
    durability: "sync",
    multitask_strategy: "reject",
    ...patch,
  };
}

export async function collect(events: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const all: RunEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

export const never = new AbortController().signal;

/** Lets everything that is ready happen. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await nextTurn();
}

/** Two plain steps. */
export function plainGraph() {
  return new StateGraph(State)
    .addNode("one", () => ({ steps: ["one"] }))
    .addNode("two", (state) => ({ steps: [...state.steps, "two"] }))
    .addEdge(START, "one")
    .addEdge("one", "two")
    .addEdge("two", END)
    .compile();
}

/** A step, a step that waits at `gate`, a step. `calls` counts each. */
export function gatedGraph(gate: ReturnType<typeof createGate>, calls: Record<string, number> = {}) {
  const count = (name: string): void => {
    calls[name] = (calls[name] ?? 0) + 1;
  };
  return new StateGraph(State)
    .addNode("before", () => {
      count("before");
      return { steps: ["before"] };
    })
    .addNode("waits", async (state, config) => {
      count("waits");
      await gate.pass(config.signal);
      return { steps: [...state.steps, "waits"] };
    })
    .addNode("after", (state) => {
      count("after");
      return { steps: [...state.steps, "after"] };
    })
    .addEdge(START, "before")
    .addEdge("before", "waits")
    .addEdge("waits", "after")
    .addEdge("after", END)
    .compile();
}

export function failingGraph() {
  return new StateGraph(State)
    .addNode("fails", () => {
      throw new RangeError("no luck");
    })
    .addEdge(START, "fails")
    .compile();
}

/** Asks for an approval before its last step. */
export function askingGraph() {
  return new StateGraph(State)
    .addNode("asks", () => ({ steps: [String(interrupt({ question: "sure?" }))] }))
    .addEdge(START, "asks")
    .compile();
}

/** A model that streams "a b c" inside a subgraph, which also writes a custom event. */
export function nestedGraph() {
  const chunks = ["a", "b", "c"].map((content) => new AIMessageChunk({ content, id: "answer" }));
  const subgraph = new StateGraph(State)
    .addNode("talks", async (state, config) => {
      config.writer?.({ type: "node_start", node: "talks" });
      const model = new FakeStreamingChatModel({ chunks });
      return { messages: [await model.invoke(state.messages, config)] };
    })
    .addEdge(START, "talks")
    .compile();
  return new StateGraph(State).addNode("outer", subgraph).addEdge(START, "outer").compile();
}
