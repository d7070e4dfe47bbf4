import { randomUUID } from "node:crypto";
import type { AIMessageChunk, BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { countMessages } from "../../context/tokens/tokens.ts";
import { alternativePlans, handle, type AlternativePlan } from "@millrace/engine/errors/error-strategy";
import { isAppError, type AppError } from "@millrace/engine/errors/errors";
import { learnLimit } from "@millrace/models/registry/learned-limits";
import { cutPrompt } from "@millrace/models/ollama/cut-prompt";
import { hasBegun } from "@millrace/models/resilience/call-with-retry";
import { failedToStream } from "@millrace/models/resilience/stream-failure";
import { ask, modelOf, offeredTools } from "./ask-model.ts";
import { checkPrompt } from "../limits/check-context.ts";
import { remainingMs, elapsedMs } from "../limits/limits.ts";
import { inAnotherWay, planView } from "../view/plan-view.ts";
import { promptOf } from "../view/prompt.ts";
import { emit, type LoopCall } from "../request.ts";
import { servicesOf } from "../services.ts";
import type { LoopState } from "../state.ts";
import { tooLong, planThatFits } from "./too-long.ts";
import { isOutOfTime } from "./within-time.ts";

/** The answer with the prompt and state that produced it; or the error and the untried fallbacks. */
export type StagedAnswer =
  | { kind: "answer"; answer: AIMessageChunk; prompt: BaseMessage[]; state: LoopState }
  | { kind: "failed"; error: unknown; plans: AlternativePlan[] };

/**
 * Calls the model, then falls back: first from streaming to one response, then to each possible plan once, emitting
 * `degraded`. A request too long for the model is not sent. Never throws.
 */
export async function askInStages(
  state: LoopState,
  call: LoopCall,
  config: LangGraphRunnableConfig,
): Promise<StagedAnswer> {
  let current = state;
  // Rarely needed, so not before a failure.
  let known: AlternativePlan[] | undefined;
  const plans = (): AlternativePlan[] => (known ??= possiblePlans(state, call));
  const take = (plan: AlternativePlan, { code, message }: AppError): void => {
    known = plans().filter((other) => other !== plan);
    const unstreamed = current.unstreamed && plan !== "other_model";
    // Nothing is known about the other model's streaming.
    const next = { ...current, ...inAnotherWay(current, plan, call, config), unstreamed };
    // If the fallback is no shorter, the view is planned again with the learned window.
    const isAsLong = code === "context_overflow" && leavesAll(next, state, call);
    current = isAsLong ? { ...next, view: planView(next, call, config) } : next;
    emit(config, { type: "degraded", plan, error_type: code, reason: message });
  };
  for (;;) {
    try {
      const prompt = promptOf(current, call);
      const problem = tooLong(prompt, current, call, config);
      const plan = problem && planThatFits(plans(), current, call, config);
      if (problem === undefined) {
        checkPrompt(prompt, call, config);
        call.modelCallId = randomUUID();
        const answer = await ask(prompt, current, call, config);
        learnFromCut(answer, current, call, config);
        return { kind: "answer", answer, prompt, state: current };
      }
      if (plan === undefined) return { kind: "failed", error: problem, plans: [] };
      take(plan, problem);
    } catch (error) {
      const worked = elapsedMs(call.clock, state, performance.now());
      const isLate = isOutOfTime(error) || remainingMs(worked, call.limits) === 0;
      if (isLate || config.signal?.aborted === true || !isAppError(error))
        return { kind: "failed", error, plans: plans() };
      if (!current.unstreamed && failedToStream(error)) {
        current = { ...current, unstreamed: true };
        emit(config, { type: "degraded", plan: "without_streaming", error_type: error.code, reason: error.message });
        continue;
      }
      if (error.code === "context_overflow") learn(current, call, error.message, config);
      const decision = handle(error, "another_way", { plans: plans(), hasBegun: hasBegun(error) });
      if (decision.kind !== "retry_with_alternative") return { kind: "failed", error, plans: plans() };
      take(decision.plan, error);
    }
  }
}

/** Whether the request is within 5 % of the first one's length, or longer. */
function leavesAll(state: LoopState, first: LoopState, call: LoopCall): boolean {
  return countMessages(promptOf(state, call)) > countMessages(promptOf(first, call)) * 0.95;
}

/** Keeps the next views below what the model could not read. */
function learn(state: LoopState, call: LoopCall, message: string, config: LangGraphRunnableConfig): void {
  // A fallback sent less than the view; then only the error's text tells the limit.
  const tokens = state.alternative === null ? (state.view?.tokens ?? Infinity) : Infinity;
  learnLimit(servicesOf(config).loadModel, modelOf(state, call), { message, tokens });
}

/**
 * The same for a server that silently cut the prompt. It drops whole messages, so it may have read much less than it
 * can; half of what was sent gets closer each time.
 */
function learnFromCut(answer: AIMessageChunk, state: LoopState, call: LoopCall, config: LangGraphRunnableConfig): void {
  const cut = cutPrompt(answer);
  if (cut === undefined) return;
  const tokens = Math.max(cut.read, cut.sent_at_least / 2);
  learnLimit(servicesOf(config).loadModel, modelOf(state, call), { message: "", tokens });
}

function possiblePlans(state: LoopState, call: LoopCall): AlternativePlan[] {
  const isLong = call.history.length + state.messages.length > 1;
  const hasTools = offeredTools(state, call).length > 0 && call.forcedTool === undefined;
  const hasFallback = call.fallbackModel !== undefined && call.fallbackModel !== call.model;
  const possible: Record<AlternativePlan, boolean> = {
    shorter_context: isLong && state.alternative !== "summary",
    summary: isLong,
    without_tools: hasTools,
    other_model: hasFallback,
  };
  return alternativePlans.filter((plan) => possible[plan] && plan !== state.alternative);
}
