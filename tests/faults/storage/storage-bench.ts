import { agentRuns } from "../../../src/agent-runs/agent-run.ts";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { END, MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { z } from "zod";
import { createLogger } from "@millrace/engine/logger";
import { loop, runLoop } from "../../../src/loop/loop.ts";
import type { SharedRunServices } from "../../../src/loop/services.ts";
import { Runs } from "@millrace/engine/runs/runs";
import { LoopLimits } from "../../../src/state.ts";
import { createSqliteStorage, type SqliteStorage } from "@millrace/engine/storage/sqlite/storage";
import type { Database } from "@millrace/engine/storage/sqlite/database/database";
import type { Run } from "@millrace/engine/storage/records";
import { createLocks } from "../../../src/tools/runtime/locks.ts";
import { defineTool, type Tool } from "../../../src/tools/runtime/tool.ts";
import { createSession, request, serve } from "../../runs/fixtures.ts";
import { toolkitParts } from "../../support/toolkit-services.ts";

/** What the model and the tools were asked for, counted outside of the database: the judge's record. */
export interface Counts {
  models: number;
  tools: number;
}

/** Calls one tool after the other, then answers; decided by the history alone. */
class SteppingModel extends BaseChatModel {
  readonly #counts: Counts;

  constructor(counts: Counts) {
    super({});
    this.#counts = counts;
  }

  override _llmType(): string {
    return "stepping";
  }

  override bindTools(): this {
    return this;
  }

  override _generate(messages: BaseMessage[]): ReturnType<BaseChatModel["_generate"]> {
    this.#counts.models += 1;
    const results = messages.filter((message) => message.type === "tool").length % 2;
    const isDone = messages.at(-1)?.type === "tool" && results === 0;
    const name = results === 0 ? "send_once" : "set_again";
    const message = isDone
      ? new AIMessage("All done.")
      : new AIMessage({
          content: "",
          tool_calls: [{ name, args: { item: "it" }, id: crypto.randomUUID(), type: "tool_call" }],
        });
    return Promise.resolve({ generations: [{ text: "", message }] });
  }
}

function countedTool(name: string, effect: Tool["effect"], counts: Counts): Tool {
  return defineTool({
    name,
    description: `Counts (${effect}).`,
    schema: z.object({ item: z.string() }),
    effect,
    timeoutSeconds: 30,
    resources: () => [],
    operation: () => Promise.resolve({ type: "Create" }),
    run: () => {
      counts.tools += 1;
      return Promise.resolve({ success: true, code: "OK", message: `${name} done` });
    },
  });
}

/** The engine over a real database, with a graph of one loop with two tools, all in this process. */
export interface StorageBench {
  storage: SqliteStorage;
  runs: Runs;
  counts: Counts;
  /** Starts one run in a new session, or in the one given. */
  start(sessionId?: string): Promise<Run>;
  close(): Promise<void>;
}

/** Opens one on the database at `path`. */
export function openStorageBench(path: string, open?: (path: string) => Database): StorageBench {
  const storage = createSqliteStorage(path, open);
  const counts: Counts = { models: 0, tools: 0 };
  const tools = [countedTool("send_once", "unsafe", counts), countedTool("set_again", "idempotent", counts)];
  const limits = LoopLimits.parse({});
  const graph = new StateGraph(new StateSchema({ messages: MessagesValue }))
    .addNode(
      "work",
      async (state: { messages: BaseMessage[] }, config) => {
        const system = "Work.";
        const call = { node: "work", system, history: state.messages, summary: null, tools, limits, model: "stepping" };
        return { messages: (await runLoop({ ...call, requiresConfirm: false, silent: false }, config)).messages };
      },
      { subgraphs: [loop] },
    )
    .addEdge(START, "work")
    .addEdge("work", END)
    .compile();
  const services: SharedRunServices = {
    ledger: storage.ledger,
    ...toolkitParts("/", storage.tasks),
    workspace: "/",
    locks: createLocks(),
    defaultModel: "stepping",
    contextLimit: undefined,
    loadModel: () => new SteppingModel(counts),
  };
  const logger = createLogger("silent");
  const runs = new Runs({
    storage,
    graphs: serve({ work: graph }, storage.checkpointer),
    logger,
    extension: agentRuns({ storage, logger, services }),
    maxConcurrent: 64,
    retryDelay: 2,
  });
  return {
    storage,
    runs,
    counts,
    async start(sessionId) {
      const session = sessionId === undefined ? await createSession(storage) : await storage.sessions.get(sessionId);
      if (session === undefined) throw new Error("The session is gone.");
      return await runs.start(session, request("work"));
    },
    async close() {
      await runs.drain(5000);
      await storage.close();
    },
  };
}
