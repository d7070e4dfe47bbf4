import type { BaseMessage } from "@langchain/core/messages";
import { END, isGraphInterrupt, START, StateGraph, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { askAboutFailure } from "./model-call/ask-about-failure.ts";
import { assemble } from "./assemble.ts";
import { callModel } from "./call-model.ts";
import { callTool } from "./call-tool.ts";
import { approveCall } from "./approve-call.ts";
import { delegate } from "./sub-agents/delegate.ts";
import { documentsFor } from "./view/documentation.ts";
import { finish } from "./finish.ts";
import { recursionLimit } from "./limits/limits.ts";
import { stateAfterLoop, type TurnState } from "./limits/orchestration.ts";
import { loopReport, type LoopReport } from "./sub-agents/report.ts";
import { loopCall, withLoopCall, type LoopRequest } from "./request.ts";
import { dropSealed } from "@millrace/engine/message-kinds";
import { spanInput } from "@millrace/engine/tracing";
import { afterAssemble, afterModel, routed } from "./route.ts";
import { LoopState, type EndReason } from "./state.ts";
import { subAgent } from "./sub-agents/sub-agent.ts";

/**
 * The agentic loop: assemble → call model → call tools ↺ → finish. Calls that need an answer of the user go through
 * `check_calls` first, and a final model failure may ask the user too. Each call has tasks of its own (law 2).
 */
function steps(afterTools: readonly string[]) {
  return (
    new StateGraph(LoopState)
      .addNode("assemble", routed(assemble, afterAssemble), { ends: ["call_model", "finish"] })
      .addNode("call_model", routed(callModel, afterModel), {
        ends: ["check_calls", "call_tool", "assemble", "ask_about_failure", "finish"],
      })
      .addNode("ask_about_failure", routed(askAboutFailure, afterAssemble), { ends: ["call_model", "finish"] })
      // Stored checkpoints name this step.
      .addNode("check_calls", approveCall, { ends: ["call_tool"] })
      .addNode("call_tool", callTool, { ends: [...afterTools] })
      .addNode("finish", finish)
      .addEdge(START, "assemble")
      .addEdge("finish", END)
  );
}

/** The loop of a sub-agent, which has no agents of its own. */
const agentLoop = steps(["assemble"]).compile({ name: "agentic_loop" });

/**
 * The agentic loop, a subgraph that nodes call. A call may delegate to agents, each in a task of its own.
 * @internal Its type cannot be written down in the declarations of a package.
 */
export const loop = steps(["assemble", "delegate"])
  .addNode("delegate", delegate, { ends: ["sub_agent", "assemble"] })
  .addNode(
    "sub_agent",
    subAgent((request, config) => run(agentLoop, request, config)),
    { subgraphs: [agentLoop] },
  )
  .addEdge("sub_agent", "delegate")
  .compile({ name: "agentic_loop" });

/** The result of one loop call: its report, its added messages, in order and valid, and its end reason. */
export interface LoopOutcome extends LoopReport {
  messages: BaseMessage[];
  end_reason: EndReason;
  iterations: number;
  /** Usage of all model calls, including those of agents. */
  total_tokens: number;
  total_cost: number;
  /** The turn's state afterwards. */
  turnState: TurnState;
}

/** Runs the loop once for a node. Throws unrecoverable model errors and the reason of a stop. */
export async function runLoop(request: LoopRequest, config: LangGraphRunnableConfig): Promise<LoopOutcome> {
  return run(loop, request, config);
}

async function run(
  graph: Pick<typeof agentLoop, "invoke">,
  request: LoopRequest,
  config: LangGraphRunnableConfig,
): Promise<LoopOutcome> {
  const within = withLoopCall(config, request, await documentsFor(request, config));
  // Only the span sees this input; the request travels beside the state.
  const outcome = await graph
    .invoke(spanInput(config, request), {
      ...within,
      runName: "agentic_loop",
      tags: [...(config.tags ?? []), ...(request.silent ? ["nostream"] : [])],
      recursionLimit: recursionLimit(request.limits),
    })
    .catch(async (error: unknown) => {
      // Begun calls wait for the approval of another one.
      if (isGraphInterrupt(error)) await loopCall(within).early?.keep();
      throw error;
    })
    .finally(() => loopCall(within).early?.end());
  return {
    ...loopReport(outcome, Date.now()),
    // The next loop call starts a new prefix, so no vendor needs the sealed parts.
    messages: dropSealed(outcome.messages),
    end_reason: outcome.end_reason ?? "answered",
    iterations: outcome.iteration_count,
    total_tokens: outcome.total_tokens_used,
    total_cost: outcome.total_cost,
    turnState: stateAfterLoop(request.turnState ?? "plan", outcome.messages),
  };
}
