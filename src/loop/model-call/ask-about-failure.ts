import { interrupt, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { AppError } from "@millrace/engine/errors/errors";
import { toldPart } from "./failed-call.ts";
import { decisionRequest, readDecided, type Decided, type Failure } from "./failure.ts";
import { move } from "../limits/move.ts";
import { inAnotherWay } from "../view/plan-view.ts";
import type { Language } from "@millrace/engine/language";
import { emit, loopCall, userLanguage } from "../request.ts";
import type { LoopState, LoopUpdate } from "../state.ts";

/**
 * Puts the question about a failed model call to a person and has no effects (law 1). Another try is of the same call:
 * what the user wrote and what the tools gave stays as it is.
 */
export async function askAboutFailure(state: LoopState, config: LangGraphRunnableConfig): Promise<LoopUpdate> {
  const { failure } = state;
  if (failure === null) throw new AppError("invalid_state", "The loop asks about a failure and there is none.");
  const decided = askPerson(failure, userLanguage(loopCall(config)));
  switch (decided.kind) {
    case "skip":
      return { ...told(state, "error", config), failure: null, end_reason: "error" };
    case "cancel":
      // The answer was for the program: there is no reply in which the turn could end.
      if (loopCall(config).silent) throw new AppError("cancelled", "The turn was stopped after a failure.");
      return { ...told(state, "cancelled", config), failure: null, end_reason: "cancelled", last_error: null };
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

/** What had been said before the call failed is the end of the turn, when nobody tries again. */
function told(state: LoopState, reason: "error" | "cancelled", config: LangGraphRunnableConfig): LoopUpdate {
  const messages = toldPart(state.failure?.heard, reason, state, config);
  return messages.length === 0 ? {} : { messages };
}

function askPerson(failure: Failure, language: Language): Exclude<Decided, { kind: "unclear" }> {
  let problem: string | undefined;
  for (;;) {
    const request = decisionRequest(failure, language, problem);
    if (request === null) throw new AppError("invalid_state", `Nobody is asked about ${failure.code}.`);
    const decided = readDecided(interrupt(request), failure);
    if (decided.kind !== "unclear") return decided;
    ({ problem } = decided);
  }
}

/** Back to the call of the model. */
function again(state: LoopState, config: LangGraphRunnableConfig): LoopUpdate {
  const { iteration_count: iteration } = state;
  move(config, "reset", state.phase, iteration);
  move(config, "start", "idle", iteration);
  return { failure: null, last_error: null, phase: move(config, "prompt_ready", "preparing", iteration) };
}
