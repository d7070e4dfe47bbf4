import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, HumanMessage, isAIMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import type { ChatResult } from "@langchain/core/outputs";
import {
  END,
  MessagesValue,
  Send,
  START,
  StateGraph,
  StateSchema,
  type LangGraphRunnableConfig,
} from "@langchain/langgraph";
import { z } from "zod";
import { runLoop } from "../../../src/loop/loop.ts";
import { servicesKey, type RunServices } from "../../../src/loop/services.ts";
import { LoopLimits } from "../../../src/state.ts";
import { createMemoryLedger } from "@millrace/engine/storage/memory";
import { createLocks } from "../../../src/tools/runtime/locks.ts";
import { defineTool } from "../../../src/tools/runtime/tool.ts";
import { skipIdleTracing } from "@millrace/engine/tracing";
import type { Figure, Section } from "../figures.ts";
import { toolkitParts } from "../../support/toolkit-services.ts";

/** Iterations of one measured turn: as many as a default turn has. */
const rounds = 14;

/** Calls the tool in each round, with another key, and then answers. It is both sides' model, and costs nothing. */
class InstantModel extends BaseChatModel {
  override _llmType(): string {
    return "instant";
  }

  override bindTools(): this {
    return this;
  }

  override async _generate(
    messages: BaseMessage[],
    _options: this["ParsedCallOptions"],
    _manager?: CallbackManagerForLLMRun,
  ): Promise<ChatResult> {
    const done = messages.filter((message) => isAIMessage(message)).length;
    const call = { id: `call_${done}`, name: "look", args: { key: `part-${done}` }, type: "tool_call" as const };
    const message =
      done < rounds
        ? new AIMessage({ content: "", tool_calls: [call] })
        : new AIMessage("All parts have been looked at.");
    return { generations: [{ text: message.text, message }] };
  }
}

const model = new InstantModel({});
const resultOf = (key: string): string => `The value of ${key} is 42.`;

const look = defineTool({
  name: "look",
  description: "Looks a value up.",
  schema: z.object({ key: z.string() }),
  effect: "pure",
  timeoutSeconds: 60,
  resources: () => [],
  operation: async () => ({ type: "Query" }),
  run: async ({ key }) => ({ success: true, code: "OK", message: "Found.", content: resultOf(key) }),
});

const State = new StateSchema({ messages: MessagesValue });

const ours = new StateGraph(State)
  .addNode("work", async (state: typeof State.State, config: LangGraphRunnableConfig) => {
    const { messages } = await runLoop(
      {
        node: "work",
        system: "Look at all parts.",
        history: state.messages,
        summary: null,
        tools: [look],
        limits: LoopLimits.parse({ max_iterations: rounds + 2, soft_warning_at: rounds + 2 }),
        model: "instant",
        requiresConfirm: false,
        silent: false,
      },
      config,
    );
    return { messages };
  })
  .addEdge(START, "work")
  .addEdge("work", END)
  .compile();

/** The same supersteps with the least in them: a view, the model, the tool in a task of its own. */
const plainLoop = new StateGraph(State)
  .addNode("assemble", () => ({}))
  .addNode("call_model", async ({ messages }, config) => ({ messages: [await model.invoke(messages, config)] }))
  .addNode("call_tool", ({ messages }) => {
    const call = messages.findLast((message) => isAIMessage(message))?.tool_calls?.[0];
    return {
      messages: [new ToolMessage({ tool_call_id: call?.id ?? "", content: resultOf(String(call?.args["key"])) })],
    };
  })
  .addEdge(START, "assemble")
  .addEdge("assemble", "call_model")
  .addConditionalEdges("call_model", (state) => (callsOf(state.messages) > 0 ? [new Send("call_tool", state)] : END), [
    "call_tool",
    END,
  ])
  .addEdge("call_tool", "assemble")
  .compile();

function callsOf(messages: readonly BaseMessage[]): number {
  return messages.findLast((message) => isAIMessage(message))?.tool_calls?.length ?? 0;
}

const plain = new StateGraph(State)
  .addNode("work", async (state: typeof State.State, config: LangGraphRunnableConfig) => {
    const { messages } = await plainLoop.invoke(state, { ...config, recursionLimit: 200 });
    return { messages };
  })
  .addEdge(START, "work")
  .addEdge("work", END)
  .compile();

/** What an iteration of our loop costs beyond the same supersteps of plain LangGraph, guardrails on; `times` turns of each. */
export async function measureLoopCost(times: number): Promise<Section> {
  // As in the server: spans that are not exported would be most of what a step of plain LangGraph costs.
  skipIdleTracing();
  const workspace = realpathSync(mkdtempSync(join(tmpdir(), "millrace-bench-")));
  try {
    const services: RunServices = {
      ledger: createMemoryLedger(),
      ...toolkitParts(workspace),
      workspace,
      locks: createLocks(),
      defaultModel: "instant",
      contextLimit: 100_000,
      loadModel: () => model,
    };
    return { title: "What the loop adds to an iteration", figures: await figures(services, times) };
  } finally {
    rmSync(workspace, { recursive: true, force: true });
  }
}

async function figures(services: RunServices, times: number): Promise<Figure[]> {
  let turn = 0;
  const input = (): { messages: BaseMessage[] } => ({ messages: [new HumanMessage("Look at all parts.")] });
  const configurable = (): object => ({
    thread_id: `loop-${(turn += 1)}`,
    run_id: `run-${turn}`,
    [servicesKey]: services,
  });
  const withLoop = async (): Promise<void> => {
    const { messages } = await ours.invoke(input(), { configurable: configurable() });
    if (messages.length !== 2 * rounds + 2)
      throw new Error(`Expected ${2 * rounds + 2} messages, got ${messages.length}.`);
  };
  const without = async (): Promise<void> => void (await plain.invoke(input(), { configurable: configurable() }));
  for (let warmUp = 0; warmUp < Math.min(30, 3 * times); warmUp += 1) {
    await withLoop();
    await without();
  }
  // In turns, so that what else the machine does meets both.
  const added: { cpu: number; wall: number; bare: number }[] = [];
  for (let at = 0; at < times; at += 1) {
    const bare = await cost(without);
    const whole = await cost(withLoop);
    added.push({ cpu: whole.cpu - bare.cpu, wall: whole.wall - bare.wall, bare: bare.cpu });
  }
  return [
    {
      measure: "plain LangGraph, the same supersteps, CPU, median",
      value: median(added.map(({ bare }) => bare)),
      unit: "ms",
    },
    { measure: "our loop beyond that, CPU, median", value: median(added.map(({ cpu }) => cpu)), unit: "ms", max: 1 },
    { measure: "our loop beyond that, wall, median", value: median(added.map(({ wall }) => wall)), unit: "ms" },
  ];
}

/** Milliseconds of one iteration, in the mean of one turn. */
async function cost(work: () => Promise<void>): Promise<{ cpu: number; wall: number }> {
  const started = performance.now();
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return { cpu: (user + system) / 1000 / rounds, wall: (performance.now() - started) / rounds };
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN;
}
