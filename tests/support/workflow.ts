import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import { HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { Command, MemorySaver } from "@langchain/langgraph";
import { loadConfig } from "@millrace/engine/config/config";
import type { CustomEvent } from "../../src/events.ts";
import { workflow } from "../../src/graph/workflow.ts";
import { servicesKey, type RunServices } from "../../src/loop/services.ts";
import { createModelLoader } from "@millrace/models/load-model";
import { ModelRegistry } from "@millrace/models/registry/registry";
import { offline } from "@millrace/offline/offline";
import type { GraphState } from "../../src/state.ts";
import { createMemoryLedger } from "@millrace/engine/storage/memory";
import { createLocks } from "../../src/tools/runtime/locks.ts";
import { toolkitParts } from "./toolkit-services.ts";
import { startModelServer, type ModelServer, type ModelServerOptions } from "@millrace/testing/model-server";

export interface TestWorkflowOptions extends ModelServerOptions {
  /** Files of the workspace, by path. */
  files?: Record<string, string>;
  /** Use the rule-based model instead of the scripted one. */
  offline?: boolean;
  contextLimit?: number;
  tracer?: BaseCallbackHandler;
  /** Follow the messages too, so that the model's answers are streamed. */
  stream?: boolean;
  /** Stops every walk. */
  signal?: AbortSignal;
}

/** The state of a session, with the fields of toolkits. */
export type SessionState = GraphState & Record<string, unknown>;

interface StreamMetadata {
  langgraph_checkpoint_ns: string;
}

/** The workflow in process: real graph, real tools in a folder of its own, the scripted model behind the real client. */
export interface TestWorkflow {
  workspace: string;
  model: ModelServer;
  services: RunServices;
  events: CustomEvent[];
  /** What a reader of the stream received of each message, by its id, in order; only with `stream`. */
  streamed: Map<string, string>;
  /** Sends one user message and waits for the end or an interrupt. */
  send(text: string, context?: Record<string, unknown>): Promise<SessionState>;
  /** Answers all pending interrupts with one value; a server gives the context of the run that asked. */
  answer(value: unknown, context?: Record<string, unknown>): Promise<SessionState>;
  /** Goes on from the last checkpoint, as after a stop of the server. */
  goOn(context?: Record<string, unknown>): Promise<SessionState>;
  interrupts(): Promise<{ id: string; value: unknown }[]>;
  state(): Promise<SessionState>;
  /** Changes the stored state, as Studio does. */
  update(values: Partial<GraphState> & Record<string, unknown>): Promise<void>;
  close(): Promise<void>;
}

/** Starts one; close it in the test. Retries do not wait. */
export async function startWorkflow(options: TestWorkflowOptions = {}): Promise<TestWorkflow> {
  const model = await startModelServer(options);
  const workspace = await realpath(await mkdtemp(join(tmpdir(), "millrace-workflow-")));
  for (const [path, content] of Object.entries(options.files ?? {})) {
    await mkdir(dirname(join(workspace, path)), { recursive: true });
    await writeFile(join(workspace, path), content);
  }
  const config = loadConfig({ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: model.url });
  const services: RunServices = {
    ledger: createMemoryLedger(),
    ...toolkitParts(workspace),
    workspace,
    locks: createLocks(),
    defaultModel: options.offline === true ? "offline" : "openai:scripted",
    contextLimit: options.contextLimit,
    loadModel: createModelLoader(config, { models: new ModelRegistry(config, { others: { offline } }) }),
  };
  const graph = workflow.compile({ checkpointer: new MemorySaver() });
  const events: CustomEvent[] = [];
  const streamed = new Map<string, string>();
  const settings = {
    configurable: { thread_id: "session-1", run_id: "run-1", [servicesKey]: services },
  };
  const walk = async (input: unknown, context: Record<string, unknown>): Promise<SessionState> => {
    // The stream takes any input; the graph's own schema checks it.
    const stream = await graph.stream(input as never, {
      ...settings,
      ...(options.tracer === undefined ? {} : { callbacks: [options.tracer] }),
      // Tests also send contexts that are wrong.
      context: context as never,
      streamMode: options.stream === true ? ["custom", "messages"] : ["custom"],
      subgraphs: true,
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    for await (const chunk of stream) {
      // With subgraphs and a list of modes a chunk is [namespace, mode, payload]; only our own events are custom.
      const [, mode, payload] = chunk as unknown as [string[], string, CustomEvent | [BaseMessage, StreamMetadata]];
      if (!Array.isArray(payload)) events.push(payload);
      else if (mode === "messages" && payload[0].id !== undefined) {
        streamed.set(payload[0].id, (streamed.get(payload[0].id) ?? "") + payload[0].text);
        services.progress?.recordChunk(payload[1].langgraph_checkpoint_ns, payload[0]);
      }
    }
    return await read();
  };
  const read = async (): Promise<SessionState> => (await graph.getState(settings)).values as SessionState;
  return {
    workspace,
    model,
    services,
    events,
    streamed,
    send: (text, context = {}) =>
      walk({ messages: [new HumanMessage({ id: crypto.randomUUID(), content: text })] }, context),
    answer: (value, context = {}) => walk(new Command({ resume: value }), context),
    goOn: (context = {}) => walk(null, context),
    interrupts: async () =>
      (await graph.getState(settings)).tasks.flatMap((task) =>
        task.interrupts.map((pending) => ({ id: pending.id ?? "", value: pending.value as unknown })),
      ),
    state: read,
    update: async (values) => {
      await graph.updateState(settings, values, "free_work");
    },
    close: async () => {
      await model.close();
      await rm(workspace, { recursive: true, force: true });
    },
  };
}
