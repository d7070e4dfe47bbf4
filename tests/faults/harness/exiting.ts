import type { BaseMessage } from "@langchain/core/messages";
import { END, MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { z } from "zod";
import { loop, runLoop } from "../../../src/loop/loop.ts";
import { LoopLimits } from "../../../src/state.ts";
import { success } from "../../../src/tools/runtime/result.ts";
import { defineTool } from "../../../src/tools/runtime/tool.ts";
import { noteEffect } from "./effect-log.ts";

/** A tool that takes the process down each time; said to be safe to repeat, so that each attempt comes to it again. */
const exitProcess = defineTool({
  name: "exit_process",
  description: "Ends the process.",
  schema: z.object({ item: z.string() }),
  effect: "idempotent",
  timeoutSeconds: 30,
  resources: () => [],
  operation: () => Promise.resolve({ type: "Create" }),
  run: ({ item }) => {
    noteEffect("begin", `exit_process ${String(item)}`);
    // As a failure of native code would; what modules call to end the process is refused.
    process.kill(process.pid, "SIGKILL");
    return Promise.resolve(success("This is never reached."));
  },
});

const call = {
  node: "work",
  system: "Work.",
  summary: null,
  tools: [exitProcess],
  limits: LoopLimits.parse({}),
  model: "openai:scripted",
  requiresConfirm: false,
  silent: false,
};

/** One node, our loop with that tool. */
export const exiting = new StateGraph(new StateSchema({ messages: MessagesValue }))
  .addNode(
    "work",
    async (state: { messages: BaseMessage[] }, config) => {
      const { messages } = await runLoop({ ...call, history: state.messages }, config);
      return { messages };
    },
    { subgraphs: [loop] },
  )
  .addEdge(START, "work")
  .addEdge("work", END);
