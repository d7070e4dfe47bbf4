import type { AIMessageChunk, BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { countMessages } from "../../context/tokens/tokens.ts";
import { alternativePlans, handle, type AlternativePlan } from "@millrace/engine/errors/error-strategy";
import { isAppError, type AppError } from "@millrace/engine/errors/errors";
import { learnLimit } from "@millrace/models/registry/learned-limits";
import { cutPrompt } from "@millrace/models/ollama/cut-prompt";
import { hasBegun } from "@millrace/models/resilience/resilience";
import { failedToStream } from "@millrace/models/resilience/stream-failure";
import { ask, modelOf, offeredTools } from "./ask-model.ts";
import { checkPrompt } from "../limits/check-context.ts";
import { remainingMs, workedMs } from "../limits/limits.ts";
import { inAnotherWay, planView } from "../view/plan-view.ts";
import { promptOf } from "../view/prompt.ts";
import { emit, type LoopCall } from "../request.ts";
import { servicesOf } from "../services.ts";
import type { LoopState } from "../state.ts";
import { tooLong, wayThatFits } from "./too-long.ts";
import { isOutOfTime } from "./within-time.ts";

/** An answer, with the state it was asked in; or why there is none, and the other ways that nobody has tried. */
export type StagedAnswer =
  | { kind: "answer"; answer: AIMessageChunk; prompt: BaseMessage[]; state: LoopState }
  | { kind: "failed"; error: unknown; plans: AlternativePlan[] };

/**
 * Asks the model, and in another way where the usual one fails for good. Each other way is taken once, and told as
 * `degraded`. Before all others a model that could not stream is asked for its answer in one piece. What is too long
 * for the model is not sent. Never throws.
 */
export async function askInStages(
  state: LoopState,
  call: LoopCall,
  config: LangGraphRunnableConfig,
): Promise<StagedAnswer> {
  let asked = state;
  let plans = possiblePlans(state, call);
  const take = (plan: AlternativePlan, { code, message }: AppError): void => {
    plans = plans.filter((other) => other !== plan);
    const unstreamed = asked.unstreamed && plan !== "other_model";
    // Of another model nothing is known yet.
    const next = { ...asked, ...inAnotherWay(asked, plan, call, config), unstreamed };
    // Where the other way has nothing to leave out, what was learned of the window says what is.
    const isAsLong = code === "context_overflow" && leavesAll(next, state, call);
    asked = isAsLong ? { ...next, view: planView(next, call, config) } : next;
    emit(config, { type: "degraded", plan, error_type: code, reason: message });
  };
  for (;;) {
    try {
      const prompt = promptOf(asked, call);
      const problem = tooLong(prompt, asked, call, config);
      const plan = problem && wayThatFits(plans, asked, call, config);
      if (problem === undefined) {
        checkPrompt(prompt, call, config);
        const answer = await ask(prompt, asked, call, config);
        learnFromCut(answer, asked, call, config);
        return { kind: "answer", answer, prompt, state: asked };
      }
      if (plan === undefined) return { kind: "failed", error: problem, plans: [] };
      take(plan, problem);
    } catch (error) {
      const worked = workedMs(call.clock, state, Date.now());
      const isLate = isOutOfTime(error) || remainingMs(worked, call.limits) === 0;
      if (isLate || config.signal?.aborted === true || !isAppError(error)) return { kind: "failed", error, plans };
      if (!asked.unstreamed && failedToStream(error)) {
        asked = { ...asked, unstreamed: true };
        emit(config, { type: "degraded", plan: "without_streaming", error_type: error.code, reason: error.message });
        continue;
      }
      if (error.code === "context_overflow") learn(asked, call, error.message, config);
      const decision = handle(error, "another_way", { plans, hasBegun: hasBegun(error) });
      if (decision.kind !== "retry_with_alternative") return { kind: "failed", error, plans };
      take(decision.plan, error);
    }
  }
}

/** Whether a request takes as much as the first one, but for a little. */
function leavesAll(state: LoopState, first: LoopState, call: LoopCall): boolean {
  return countMessages(promptOf(state, call)) > countMessages(promptOf(first, call)) * 0.95;
}

/** The next views keep below what the model could not read. */
function learn(state: LoopState, call: LoopCall, said: string, config: LangGraphRunnableConfig): void {
  // In another way less was sent than the view holds: then only the words tell.
  const tokens = state.alternative === null ? (state.view?.tokens ?? Infinity) : Infinity;
  learnLimit(servicesOf(config).loadModel, modelOf(state, call), { said, tokens });
}

/**
 * The same where a server has cut the prompt in silence. What it has read may be much less than it can, since it leaves
 * out whole messages; half of what was sent comes nearer each time.
 */
function learnFromCut(answer: AIMessageChunk, state: LoopState, call: LoopCall, config: LangGraphRunnableConfig): void {
  const cut = cutPrompt(answer);
  if (cut === undefined) return;
  const tokens = Math.max(cut.read, cut.sent_at_least / 2);
  learnLimit(servicesOf(config).loadModel, modelOf(state, call), { said: "", tokens });
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
