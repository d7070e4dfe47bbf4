import { agentRuns } from "../../../src/agent-runs/agent-run.ts";
import { access, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, isToolMessage, type BaseMessage } from "@langchain/core/messages";
import { END, MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { createLogger } from "@millrace/engine/logger";
import { loop, runLoop } from "../../../src/loop/loop.ts";
import { Runs } from "@millrace/engine/runs/runs";
import { LoopLimits } from "../../../src/state.ts";
import { createLocks } from "../../../src/tools/runtime/locks.ts";
import { defineTool, type Tool } from "../../../src/tools/runtime/tool.ts";
import { createTestStorage } from "../../support/test-storage.ts";
import type { ModelStep } from "@millrace/testing/model-server";
import { createGate, createSession, request, serve } from "../fixtures.ts";
import { startStopBench, type StopBench } from "./stop-bench.ts";
import { toolkitParts } from "../../support/toolkit-services.ts";

let bench: StopBench | undefined;
afterEach(async () => {
  await bench?.close();
  bench = undefined;
});

const words = Array.from({ length: 40 }, (_, index) => `word${index}`).join(" ");
const never = new Promise<never>(() => undefined);

/** Ends of connections that this process holds open; the model's server is in it too. */
function sockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
}

/** Resolves when it holds; a test that waits in vain fails by its time. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise(setImmediate);
}

describe("a stop leaves nothing open", () => {
  it("closes the answer of the model and ends every reader, however often", async () => {
    const step: ModelStep = { text: words, hold: { after: 30, until: never } };
    bench = await startStopBench({ script: Array.from({ length: 8 }, () => step) });
    const flow = bench;
    const before = sockets();
    for (let time = 0; time < 8; time += 1) {
      const { run, reader } = await flow.start("What is in the notes?");
      await reader.until(() => [...reader.text().values()].some(({ content }) => content.endsWith("word29")));
      expect(sockets()).toBeGreaterThan(before);
      await flow.runs.cancel(run.run_id, { action: "interrupt", wait: true });
      await reader.over;
      await until(() => sockets() <= before);
    }
    expect(flow.runs.stopOf(flow.session.session_id)).toBeUndefined();
  });

  it("leaves no unfinished file in the workspace", async () => {
    const content = "all work and no play\n".repeat(50_000);
    const call = { name: "create_file", arguments: { path: "long.txt", content }, id: "long" };
    bench = await startStopBench({ script: [{ toolCalls: [call] }] });
    const { runs, workspace, storage, session } = bench;
    const { run, reader } = await bench.start("Write a long file");
    await reader.until(() =>
      reader.custom().some((event) => event.type === "tool_status" && event.status === "executing"),
    );
    // Before the stop, the file is there under its temporary name or its own.
    await until(async () => (await readdir(workspace)).length > 0);
    await runs.cancel(run.run_id, { action: "interrupt", wait: true });
    await reader.over;
    const isWhole = async (): Promise<boolean> => (await readdir(workspace)).every((name) => name === "long.txt");
    await until(isWhole);
    // A call whose end was not received because of the stop stays open in the ledger; one that ended before has its result.
    for (const row of await storage.ledger.list(session.session_id)) {
      expect(row.state === "finished").toBe((await readdir(workspace)).length === 1 && row.result !== null);
    }
  });
});

describe("a long tool", () => {
  it("is cancelled in the middle, takes back what it did, and stays open in the ledger", async () => {
    const gate = createGate();
    const trace = join(tmpdir(), `millrace-simulation-${crypto.randomUUID()}`);
    const undone = Promise.withResolvers<void>();
    const begun: string[] = [];
    const simulate: Tool = defineTool({
      name: "simulate",
      description: "Simulates for long.",
      schema: z.object({ what: z.string() }),
      effect: "unsafe",
      timeoutSeconds: 600,
      resources: () => [],
      operation: () => Promise.resolve({ type: "Create" }),
      run: async ({ what }, { signal }) => {
        begun.push(what);
        await writeFile(trace, "half");
        try {
          await gate.pass(signal);
        } catch (error) {
          await rm(trace);
          undone.resolve();
          throw error;
        }
        return { success: true, code: "OK", message: "done" };
      },
    });
    const { runs, session, storage, messages } = await openLoop(simulate);
    const run = await runs.start(session, request("agent"));
    await gate.arrived;
    await access(trace);
    expect((await runs.cancel(run.run_id, { action: "interrupt", wait: true }))?.status).toBe("interrupted");
    await undone.promise;
    await expect(access(trace)).rejects.toMatchObject({ code: "ENOENT" });
    expect(await storage.ledger.list(session.session_id)).toMatchObject([
      { tool: "simulate", state: "started", result: null, finished_at: null },
    ]);
    const result = (await messages()).find(isToolMessage);
    expect(result?.text).toContain("Whether it had an effect is not known");
    expect(result?.additional_kwargs).toMatchObject({ code: "INTERRUPTED" });
    expect(begun).toEqual(["it"]);
  });
});

/** A loop with one tool, which its model calls. */
async function openLoop(tool: Tool) {
  const storage = createTestStorage();
  const limits = LoopLimits.parse({});
  const graph = new StateGraph(new StateSchema({ messages: MessagesValue }))
    .addNode(
      "work",
      async (state, config) => {
        const call = {
          node: "work",
          system: "Work.",
          history: state["messages"],
          summary: null,
          tools: [tool],
          limits,
        };
        const turn = { ...call, model: "calling", requiresConfirm: false, silent: false };
        return { messages: (await runLoop(turn, config)).messages };
      },
      { subgraphs: [loop] },
    )
    .addEdge(START, "work")
    .addEdge("work", END)
    .compile();
  const tool_calls = [{ name: tool.name, args: { what: "it" }, id: "call", type: "tool_call" as const }];
  class CallingModel extends BaseChatModel {
    override _llmType(): string {
      return "calling";
    }
    override bindTools(): this {
      return this;
    }
    override _generate(): ReturnType<BaseChatModel["_generate"]> {
      return Promise.resolve({ generations: [{ text: "", message: new AIMessage({ content: "", tool_calls }) }] });
    }
  }
  const services = {
    ledger: storage.ledger,
    ...toolkitParts("/", storage.tasks),
    workspace: "/",
    locks: createLocks(),
    defaultModel: "calling",
    contextLimit: undefined,
    loadModel: () => new CallingModel({}),
  };
  const graphs = serve({ agent: graph }, storage.checkpointer);
  const logger = createLogger("silent");
  const extension = agentRuns({ storage, logger, services });
  const runs = new Runs({ storage, graphs, logger, extension, maxConcurrent: 1, retryDelay: 1 });
  const session = await createSession(storage);
  const messages = async (): Promise<BaseMessage[]> => {
    const state = await graph.getState({ configurable: { thread_id: session.session_id } });
    return (state.values as { messages: BaseMessage[] }).messages;
  };
  return { storage, runs, session, messages };
}
