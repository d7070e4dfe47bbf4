import type { BaseMessage } from "@langchain/core/messages";
import { END, START, StateGraph, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { assemble } from "./assemble.ts";
import { callModel } from "./call-model.ts";
import { callTool } from "./call-tool.ts";
import { checkCalls } from "./check-calls.ts";
import { finish } from "./finish.ts";
import { recursionLimit } from "./limits.ts";
import { withLoopCall, type LoopRequest } from "./request.ts";
import { afterModel } from "./route.ts";
import { LoopState, type EndReason } from "./state.ts";

/**
 * The agentic loop (LOOP-01), a subgraph that every node calls: assemble → call model → check calls → call tools ↺ →
 * finish. Each requested call is checked and run in a task of its own (law 2).
 */
export const loop = new StateGraph(LoopState)
  .addNode("assemble", assemble)
  .addNode("call_model", callModel)
  .addNode("check_calls", checkCalls, { ends: ["call_tool"] })
  .addNode("call_tool", callTool)
  .addNode("finish", finish)
  .addEdge(START, "assemble")
  .addEdge("assemble", "call_model")
  .addConditionalEdges("call_model", afterModel, ["check_calls", "finish"])
  .addEdge("call_tool", "assemble")
  .addEdge("finish", END)
  .compile({ name: "agentic_loop" });

/** What one call of the loop came to: the messages it added, in order and valid, and why it ended. */
export interface LoopOutcome {
  messages: BaseMessage[];
  end_reason: EndReason;
  iterations: number;
}

/** Runs the loop once for a node. Throws what the model could not recover from, and the reason of a stop. */
export async function runLoop(request: LoopRequest, config: LangGraphRunnableConfig): Promise<LoopOutcome> {
  const outcome = await loop.invoke(
    {},
    {
      ...withLoopCall(config, request),
      runName: "agentic_loop",
      tags: [...(config.tags ?? []), ...(request.silent ? ["nostream"] : [])],
      recursionLimit: recursionLimit(request.limits),
    },
  );
  return {
    messages: outcome.messages,
    end_reason: outcome.end_reason ?? "answered",
    iterations: outcome.iteration_count,
  };
}
