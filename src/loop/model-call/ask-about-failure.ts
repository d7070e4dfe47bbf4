import { interrupt, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { AppError } from "@millrace/engine/errors/errors";
import { partialMessages } from "./failed-call.ts";
import { decisionRequest, readDecided, type Decided, type Failure } from "./failure.ts";
import { advancePhase } from "../limits/advance-phase.ts";
import { inAnotherWay } from "../view/plan-view.ts";
import type { Language } from "@millrace/engine/language";
import { emit, loopCall, userLanguage } from "../request.ts";
import type { LoopState, LoopUpdate } from "../state.ts";

/**
 * Asks the user about a failed model call, without effects (law 1). A retry repeats the same call: the user's message
 * and the tool results stay.
 */
export async function askAboutFailure(state: LoopState, config: LangGraphRunnableConfig): Promise<LoopUpdate> {
  const { failure } = state;
  if (failure === null) throw new AppError("invalid_state", "The loop has no failure to ask about.");
  const decided = askPerson(failure, userLanguage(loopCall(config)));
  switch (decided.kind) {
    case "skip":
      return { ...partialReply(state, "error", config), failure: null, end_reason: "error" };
    case "cancel":
      // A silent call has no reply with which the turn could end.
      if (loopCall(config).silent) throw new AppError("cancelled", "The turn was stopped after a failure.");
      return { ...partialReply(state, "cancelled", config), failure: null, end_reason: "cancelled", last_error: null };
    case "alternative":
      emit(config, {
        type: "degraded",
        plan: decided.plan,
        error_type: failure.code,
        reason: failure.message,
      });
      return { ...again(state, config), ...inAnotherWay(state, decided.plan, loopCall(config), config) };
    case "retry":
      return { ...again(state, config) };
  }
}

/** The part of the answer received before the failure, which ends the turn without a retry. */
function partialReply(state: LoopState, reason: "error" | "cancelled", config: LangGraphRunnableConfig): LoopUpdate {
  const messages = partialMessages(state.failure?.heard, reason, state, config);
  return messages.length === 0 ? {} : { messages };
}

function askPerson(failure: Failure, language: Language): Exclude<Decided, { kind: "unclear" }> {
  let problem: string | undefined;
  for (;;) {
    const request = decisionRequest(failure, language, problem);
    if (request === null)
      throw new AppError("invalid_state", `The failure ${failure.code} allows no decision by the user.`);
    const decided = readDecided(interrupt(request), failure);
    if (decided.kind !== "unclear") return decided;
    ({ problem } = decided);
  }
}

/** Returns to the model call. */
function again(state: LoopState, config: LangGraphRunnableConfig): LoopUpdate {
  const { iteration_count: iteration } = state;
  advancePhase(config, "reset", state.phase, iteration);
  advancePhase(config, "start", "idle", iteration);
  return { failure: null, last_error: null, phase: advancePhase(config, "prompt_ready", "preparing", iteration) };
}
