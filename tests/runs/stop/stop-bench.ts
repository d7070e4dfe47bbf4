import { agentRuns } from "../../../src/agent-runs/agent-run.ts";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import type { InvokeCallbacks } from "../../../src/callbacks/callback.ts";
import { loadConfig } from "@millrace/engine/config/config";
import type { CustomEvent } from "../../../src/events.ts";
import type { RunEvent } from "@millrace/engine/run-events";
import { workflow } from "../../../src/graph/workflow.ts";
import { createLogger } from "@millrace/engine/logger";
import type { SharedRunServices } from "../../../src/loop/services.ts";
import { createModelLoader } from "@millrace/models/load-model";
import { Runs } from "@millrace/engine/runs/runs";
import type { Run, Session } from "@millrace/engine/storage/records";
import type { Storage } from "@millrace/engine/storage/storage";
import { createLocks } from "../../../src/tools/runtime/locks.ts";
import { createTestStorage } from "../../support/test-storage.ts";
import { startModelServer, type ModelServer, type ModelServerOptions } from "@millrace/testing/model-server";
import { createSession, request, serve, type createGate } from "../fixtures.ts";
import { toolkitParts } from "../../support/toolkit-services.ts";
import type { TaskStore } from "@millrace/engine/storage/record-stores";
import { itemSource } from "../../support/item-tool.ts";

/** What a reader of one run got: its events, and the text and reasoning of each streamed message. */
export interface Reader {
  events: RunEvent[];
  text(): Map<string, { content: string; reasoning: string }>;
  custom(): CustomEvent[];
  /** Resolves as soon as an event is there that fits; rejects when the stream ends without one. */
  until(fits: (reader: Reader) => boolean): Promise<void>;
  over: Promise<void>;
}

/** Reads a run as a live reader does. */
export function read(events: AsyncIterable<RunEvent>): Reader {
  const got: RunEvent[] = [];
  const waiting = new Set<() => void>();
  let isOver = false;
  const reader: Reader = {
    events: got,
    text() {
      const texts = new Map<string, { content: string; reasoning: string }>();
      for (const event of got) {
        if (event.event !== "messages" || !(event.data instanceof AIMessageChunk)) continue;
        const id = event.data.id ?? "";
        const before = texts.get(id) ?? { content: "", reasoning: "" };
        const reasoning = event.data.additional_kwargs["reasoning_content"];
        texts.set(id, {
          content: before.content + event.data.text,
          reasoning: before.reasoning + (typeof reasoning === "string" ? reasoning : ""),
        });
      }
      return texts;
    },
    custom: () => got.flatMap((event) => (event.event === "custom" ? [event.data as CustomEvent] : [])),
    async until(fits) {
      while (!fits(reader)) {
        if (isOver) throw new Error("the run ended first");
        await new Promise<void>((resolve) => waiting.add(resolve));
      }
    },
    over: follow(),
  };
  async function follow(): Promise<void> {
    const wake = (): void => {
      for (const resolve of waiting) resolve();
      waiting.clear();
    };
    for await (const event of events) {
      got.push(event);
      wake();
    }
    isOver = true;
    wake();
  }
  return reader;
}

/** The real workflow with runs, a scripted strict model, and a tool whose writes wait at a gate when there is one. */
export interface StopBench {
  runs: Runs;
  storage: Storage;
  session: Session;
  model: ModelServer;
  workspace: string;
  /** The next write of an item waits here. */
  gate: { current: ReturnType<typeof createGate> | undefined };
  /** Titles of the items whose creation began. */
  effects: string[];
  start(text: string, patch?: Parameters<typeof request>[1]): Promise<{ run: Run; reader: Reader }>;
  /** Runs to the end; answers with the run's row. */
  finish(text: string, patch?: Parameters<typeof request>[1]): Promise<Run>;
  state(): Promise<{ messages: BaseMessage[]; next: readonly unknown[] }>;
  close(): Promise<void>;
  /** The same for one whose process is dead: its runs never end. */
  discard(): Promise<void>;
}

/** Starts one; close it in the test. */
export async function startStopBench(
  options: ModelServerOptions &
    Pick<SharedRunServices, "hooks"> & {
      files?: Record<string, string>;
      storage?: Storage;
      invokeCallbacks?: InvokeCallbacks;
      maxConcurrent?: number;
    },
): Promise<StopBench> {
  const model = await startModelServer(options);
  const workspace = await realpath(await mkdtemp(join(tmpdir(), "millrace-stop-")));
  for (const [path, content] of Object.entries(options.files ?? {})) {
    await mkdir(dirname(join(workspace, path)), { recursive: true });
    await writeFile(join(workspace, path), content);
  }
  const storage = options.storage ?? createTestStorage();
  const effects: string[] = [];
  const gate: StopBench["gate"] = { current: undefined };
  const tasks: TaskStore = {
    ...storage.tasks,
    create: async (task) => {
      effects.push(task.title);
      await gate.current?.pass();
      return storage.tasks.create(task);
    },
    ofSession: () => tasks,
  };
  const services: SharedRunServices = {
    ledger: storage.ledger,
    ...toolkitParts(workspace),
    toolSources: [itemSource(tasks)],
    workspace,
    locks: createLocks(),
    hooks: options.hooks ?? [],
    defaultModel: "openai:scripted",
    contextLimit: undefined,
    loadModel: createModelLoader(loadConfig({ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: model.url })),
  };
  const graph = workflow.compile();
  const logger = createLogger("silent");
  const runs = new Runs({
    storage,
    graphs: serve({ agent: graph }, storage.checkpointer),
    logger,
    extension: agentRuns({ storage, logger, services, invokeCallbacks: options.invokeCallbacks }),
    maxConcurrent: options.maxConcurrent ?? 8,
    retryDelay: 1,
  });
  const session = await createSession(storage);
  const discard = async (): Promise<void> => {
    await model.close();
    await rm(workspace, { recursive: true, force: true });
  };
  const start: StopBench["start"] = async (text, patch = {}) => {
    const run = await runs.start(
      session,
      request("agent", {
        input: { messages: text === "" ? [] : [{ role: "user", content: text }] },
        stream_mode: ["messages-tuple", "custom", "values"],
        multitask_strategy: "enqueue",
        ...patch,
      }),
    );
    return { run, reader: read(runs.follow(run.run_id, -1, new AbortController().signal)) };
  };
  return {
    runs,
    storage,
    session,
    model,
    workspace,
    gate,
    effects,
    start,
    async finish(text, patch) {
      const { run, reader } = await start(text, patch);
      await reader.over;
      return (await runs.get(run.run_id)) ?? run;
    },
    async state() {
      const state = await graph.getState({ configurable: { thread_id: session.session_id } });
      const { messages } = state.values as { messages?: BaseMessage[] };
      return { messages: messages ?? [], next: state.next };
    },
    async close() {
      await runs.drain(0);
      await discard();
    },
    discard,
  };
}
