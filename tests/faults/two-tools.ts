import { appendFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { END, MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { z } from "zod";
import { runLoop } from "../../src/loop/loop.ts";
import { LoopLimits } from "../../src/state.ts";
import { defineTool, type Tool } from "../../src/tools/runtime/tool.ts";

/** Where the tools write what they really did, outside the server and its ledger: the judge's record. */
const effects = process.env["EFFECTS_FILE"] ?? "";

function effectTool(name: string, effect: Tool["effect"]): Tool {
  return defineTool({
    name,
    description: `Appends a line for the item (${effect}).`,
    schema: z.object({ item: z.string() }),
    effect,
    timeoutSeconds: 30,
    resources: () => [],
    operation: () => Promise.resolve({ type: "Create" }),
    run: async ({ item }) => {
      await delay(15);
      await appendFile(effects, `${name} ${String(item)}\n`);
      await delay(15);
      return { success: true, code: "OK", message: `${name} did ${String(item)}` };
    },
  });
}

const tools = [effectTool("send_once", "unsafe"), effectTool("set_again", "idempotent")];
const State = new StateSchema({ messages: MessagesValue });

/** A graph with one node: our loop with one tool that must not be repeated and one that may. */
export const graph = new StateGraph(State)
  .addNode("work", async (state, config) => {
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
  })
  .addEdge(START, "work")
  .addEdge("work", END);
