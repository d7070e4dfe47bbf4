import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { checkRequest } from "./limits/check-context.ts";
import { afterTools, hasFailed } from "./after-reply.ts";
import { reachedBudget, reachedLimit, elapsedMs } from "./limits/limits.ts";
import { planView } from "./view/plan-view.ts";
import { advancePhase } from "./limits/advance-phase.ts";
import { describeSpent } from "@millrace/engine/usage/owner-usage";
import { emit, loopCall, userLanguage } from "./request.ts";
import { servicesOf } from "./services.ts";
import { findingsOf, emitFindings } from "./limits/review.ts";
import type { EndReason, LoopState, LoopUpdate } from "./state.ts";

/**
 * Starts an iteration: checks tool results, limits and loop rules, and plans the model's view of the history. Changes
 * nothing else, so it may run twice.
 */
export async function assemble(state: LoopState, config: LangGraphRunnableConfig): Promise<LoopUpdate> {
  const call = loopCall(config);
  const iteration = state.iteration_count + 1;
  begin(iteration, state, config);
  const shown = afterTools(state.messages);
  if (shown !== null) return endTurn(shown.reason, state, config);

  const spent = await servicesOf(config).account?.spent();
  if (spent !== undefined) {
    return { ...endTurn("owner_limit", state, config), last_error: describeSpent(spent)[userLanguage(call)] };
  }

  const now = Date.now();
  const start_time = state.start_time === 0 ? now : state.start_time;
  const view = planView(state, call, config);
  const budget = reachedBudget({ ...state, next: view.tokens }, call.limits);
  if (budget?.stage === "spent") return endTurn(budget.reason, state, config);
  const findings = findingsOf(state.messages, call);
  emitFindings(findings, config);
  const found = findings.some(({ stage }) => stage === "finish") ? "guardrail" : null;
  const limit = reachedLimit({ ...state, worked_ms: elapsedMs(call.clock, state, performance.now()) }, call.limits);
  const failed = call.limits.continue_on_tool_error === false && hasFailed(state.messages) ? "error" : null;
  const closing = state.closing ?? limit ?? budget?.reason ?? found ?? failed;

  const phase = advancePhase(
    config,
    iteration === 1 || state.forced !== null ? "prompt_ready" : "results_ready",
    state.phase,
    iteration,
  );
  // Only changed fields are written: each is stored with every step.
  return {
    iteration_count: iteration,
    phase,
    view,
    ...(closing === state.closing ? {} : { closing }),
    ...(start_time === state.start_time ? {} : { start_time }),
  };
}

function begin(iteration: number, state: LoopState, config: LangGraphRunnableConfig): void {
  if (iteration === 1) {
    const { node, limits } = loopCall(config);
    emit(config, { type: "agentic_loop.started", node, max_iterations: limits.max_iterations });
    checkRequest(loopCall(config), config);
    advancePhase(config, "start", state.phase, iteration);
  } else if (state.forced === null) {
    advancePhase(config, "tool_complete", state.phase, iteration);
  }
}

/** Ends the turn without another model call. */
function endTurn(reason: EndReason, state: LoopState, config: LangGraphRunnableConfig): LoopUpdate {
  return { end_reason: reason, phase: advancePhase(config, "turn_over", state.phase, state.iteration_count) };
}
