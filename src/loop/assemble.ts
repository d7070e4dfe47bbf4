import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { weigh } from "../context/compress.ts";
import { hintTokens } from "../context/hints.ts";
import { countMessages, countText } from "../context/tokens.ts";
import { safeZoneTokens } from "../context/safe-zone.ts";
import { chooseWindow } from "../context/view.ts";
import { withLearned } from "../models/learned-limits.ts";
import { modelLimits } from "../models/model-limits.ts";
import { toLangChainTools } from "../tools/registry.ts";
import type { Tool } from "../tools/tool.ts";
import { checkRequest, checkView } from "./check-context.ts";
import { afterTools } from "./decide.ts";
import { chooseDocumentation } from "./documentation.ts";
import { reachedBudget, reachedLimit, workedMs } from "./limits.ts";
import { emit, loopCall, move, type LoopCall } from "./request.ts";
import { findingsOf, tellFindings } from "./review.ts";
import { hasHints, shownOf, tellPruning } from "./shown.ts";
import { profilesOf, servicesOf } from "./services.ts";
import type { EndReason, LoopState, LoopUpdate, ViewPlan } from "./state.ts";

/**
 * Begins an iteration: looks at what the tools gave, at the limits and the rules against loops, and decides what of the
 * history the model sees. It changes nothing else, so it may run twice.
 */
export async function assemble(state: LoopState, config: LangGraphRunnableConfig): Promise<LoopUpdate> {
  const call = loopCall(config);
  const iteration = state.iteration_count + 1;
  begin(iteration, state, config);
  const shown = afterTools(state.messages);
  if (shown !== null) return over(shown.reason, state, config);

  const now = Date.now();
  const start_time = state.start_time === 0 ? now : state.start_time;
  const view = viewOf(state, call, config);
  const budget = reachedBudget({ ...state, next: view.tokens }, call.limits);
  if (budget?.stage === "spent") return over(budget.reason, state, config);
  const findings = findingsOf(state.messages, call);
  tellFindings(findings, config);
  const found = findings.some(({ stage }) => stage === "finish") ? "guardrail" : null;
  const limit = reachedLimit({ ...state, worked_ms: workedMs(call.clock, state, now) }, call.limits);
  const closing = state.closing ?? limit ?? budget?.reason ?? found;

  const phase = move(
    config,
    iteration === 1 || state.forced !== null ? "prompt_ready" : "results_ready",
    state.phase,
    iteration,
  );
  // Only what changes is written: every field here is stored with every step.
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
    move(config, "start", state.phase, iteration);
  } else if (state.forced === null) {
    move(config, "tool_complete", state.phase, iteration);
  }
}

/** The turn ends without another model call. */
function over(reason: EndReason, state: LoopState, config: LangGraphRunnableConfig): LoopUpdate {
  return { end_reason: reason, phase: move(config, "turn_over", state.phase, state.iteration_count) };
}

function viewOf(state: LoopState, call: LoopCall, config: LangGraphRunnableConfig): ViewPlan {
  const { contextLimit, loadModel } = servicesOf(config);
  const known = modelLimits(call.model, contextLimit, profilesOf(config)).context;
  const limit = withLearned(loadModel, call.model, known);
  const zone = safeZoneTokens(call.limits.safe_zone, limit);
  const shown = shownOf(state, call, zone);
  tellPruning(shown, call, config);
  const eachTokens = hasHints(call) ? hintTokens : 0;
  const turn = countMessages(shown.turn) + shown.turn.length * eachTokens;
  const fixed = countText(call.system) + countText(call.instruction ?? "") + turn + toolTokens(call.tools);
  const left_out = chooseDocumentation(state, call, { fixed, limit }, config);
  const fixedTokens = fixed + countMessages(call.documentation ?? []);
  const window = chooseWindow(shown.history, { summary: null, fixedTokens, eachTokens, limit });
  const tokens = fixedTokens + window.tokens;
  emit(config, { type: "context_usage", ...weigh(tokens, limit) });
  checkView(tokens, limit, call, config);
  const whole = fixedTokens - turn + countMessages(call.history) + countMessages(state.messages);
  return { first: window.first, tokens, whole, zone, ...(left_out === 0 ? {} : { left_out }) };
}

const tokensOfTools = new WeakMap<object, number>();

/** What the model is told of the tools: those of a foreign server may have long schemas. */
function toolTokens(tools: readonly Tool[]): number {
  let tokens = 0;
  for (const tool of tools) {
    let known = tokensOfTools.get(tool);
    if (known === undefined) {
      known = countText(JSON.stringify(toLangChainTools([tool])));
      tokensOfTools.set(tool, known);
    }
    tokens += known;
  }
  return tokens;
}
