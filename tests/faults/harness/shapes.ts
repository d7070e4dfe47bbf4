import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { END, MessagesValue, START, StateGraph, StateSchema, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { z } from "zod";
import { loop, runLoop } from "../../../src/loop/loop.ts";
import { LoopLimits } from "../../../src/state.ts";
import { defineTool, type Operation, type Tool } from "../../../src/tools/runtime/tool.ts";
import { noteEffect } from "./effect-log.ts";

const State = new StateSchema({ messages: MessagesValue });

interface EffectTool {
  name: string;
  effect: Tool["effect"];
  /** Milliseconds before and after its effect. */
  around: number;
  operation?: Operation;
}

function effectTool({ name, effect, around, operation = { type: "Create" } }: EffectTool): Tool {
  return defineTool({
    name,
    description: `Has an effect on the item (${effect}).`,
    schema: z.object({ item: z.string() }),
    effect,
    timeoutSeconds: 30,
    resources: () => [],
    operation: () => Promise.resolve(operation),
    run: async ({ item }, { signal }) => {
      await delay(around, undefined, { signal });
      noteEffect("begin", `${name} ${String(item)}`);
      await delay(around, undefined, { signal });
      noteEffect("done", `${name} ${String(item)}`);
      return { success: true, code: "OK", message: `${name} did ${String(item)}` };
    },
  });
}

const tools = [
  effectTool({ name: "send_once", effect: "unsafe", around: 10 }),
  effectTool({ name: "set_again", effect: "idempotent", around: 10 }),
  effectTool({ name: "take_long", effect: "unsafe", around: 250 }),
  effectTool({
    name: "ask_first",
    effect: "unsafe",
    around: 15,
    operation: { type: "HighRiskOperation", what: "a test" },
  }),
];

async function work(state: typeof State.State, config: LangGraphRunnableConfig): Promise<typeof State.Update> {
  const { messages } = await runLoop(
    {
      node: "work",
      system: "Work.",
      history: state.messages,
      summary: null,
      tools,
      limits: LoopLimits.parse({}),
      model: "openai:scripted",
      requiresConfirm: false,
      silent: false,
    },
    config,
  );
  return { messages };
}

/** One node, our loop with all the tools: the shapes single, parallel, long, approval and streaming differ in the script. */
export const one = new StateGraph(State)
  .addNode("work", work, { subgraphs: [loop] })
  .addEdge(START, "work")
  .addEdge("work", END);

/** The loop two graphs deep. */
export const nested = new StateGraph(State)
  .addNode("inside", one.compile())
  .addEdge(START, "inside")
  .addEdge("inside", END);

/** Failures so far, by session; a crash forgets them, so that the node fails again. */
const failures = new Map<string, number>();

/** A node that fails twice and is repeated by LangGraph's own retry, then the loop. */
export const retrying = new StateGraph(State)
  .addNode(
    "flaky",
    (_state, config: LangGraphRunnableConfig) => {
      const session = String(config.configurable?.["thread_id"]);
      const count = (failures.get(session) ?? 0) + 1;
      failures.set(session, count);
      if (count <= 2) throw new Error("not yet");
      failures.delete(session);
      return {};
    },
    { retryPolicy: { maxAttempts: 4, initialInterval: 30, jitter: false, logWarning: false } },
  )
  .addNode("work", work, { subgraphs: [loop] })
  .addEdge(START, "flaky")
  .addEdge("flaky", "work")
  .addEdge("work", END);

const Output = new StateSchema({
  events: z.number().default(0),
  size: z.number().default(0),
  pause: z.number().default(0),
});

/** Emits `events` custom events of `size` characters with the time of each, `pause` milliseconds apart (0: at once). */
export const talker = new StateGraph(Output)
  .addNode("emit", async ({ events, size, pause }, config: LangGraphRunnableConfig) => {
    const padding = "x".repeat(size);
    for (let index = 0; index < events; index += 1) {
      config.writer?.({ at: Date.now(), index, padding });
      if (pause > 0) await delay(pause, undefined, config.signal ? { signal: config.signal } : {});
      else if (index % 8 === 0) await new Promise(setImmediate);
    }
    return {};
  })
  .addEdge(START, "emit")
  .addEdge("emit", END);

/** The loop, with a note at its begin and end: two of one session must never overlap. */
export const watched = new StateGraph(State)
  .addNode(
    "work",
    async (state: typeof State.State, config: LangGraphRunnableConfig) => {
      const session = String(config.configurable?.["thread_id"]);
      noteEffect("begin", session);
      try {
        return await work(state, config);
      } finally {
        noteEffect("done", session);
      }
    },
    { subgraphs: [loop] },
  )
  .addEdge(START, "work")
  .addEdge("work", END);

const Walk = new StateSchema({
  item: z.string().default(""),
  steps: z.number().default(0),
  pause: z.number().default(0),
  walked: z.array(z.number()).default([]),
});

/** Walks `steps` steps, each `pause` milliseconds long, and notes the begin of each with its process and time. */
export const walker = new StateGraph(Walk)
  .addNode("step", async ({ item, pause, walked }, config: LangGraphRunnableConfig) => {
    appendFileSync(process.env["STEPS_FILE"] ?? "", `${item} ${walked.length} ${process.pid} ${Date.now()}\n`);
    await delay(pause, undefined, config.signal ? { signal: config.signal } : {});
    return { walked: [...walked, walked.length] };
  })
  .addEdge(START, "step")
  .addConditionalEdges("step", ({ steps, walked }) => (walked.length < steps ? "step" : END));
