import { isHumanMessage, type AIMessage, type BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { textOf } from "@millrace/engine/message-kinds";
import { handle, type AlternativePlan } from "@millrace/engine/errors/error-strategy";
import { userSentence } from "@millrace/engine/errors/error-texts";
import { adviceOf, type AppError, isAppError } from "@millrace/engine/errors/errors";
import { languageOfWords } from "@millrace/engine/language";
import { remainingMs, elapsedMs } from "../limits/limits.ts";
import { toPartial } from "../reply/partial-answer.ts";
import type { StreamedAnswer } from "../progress.ts";
import { withEnd } from "../reply/reply-message.ts";
import { advancePhase } from "../limits/advance-phase.ts";
import { emit, loopCall, recordMessages } from "../request.ts";
import { servicesOf, taskPathOf } from "../services.ts";
import type { EndReason, LoopState, LoopUpdate } from "../state.ts";
import { isOutOfTime } from "./within-time.ts";

/**
 * Handles a final model failure: asks the user if the run wants that; else ends the turn with what is known, or the run
 * if the turn has produced nothing. Throws what ends the run, and a stop.
 */
export function failedCall(
  error: unknown,
  plans: AlternativePlan[],
  state: LoopState,
  config: LangGraphRunnableConfig,
): LoopUpdate {
  const isStop = config.signal?.aborted === true;
  if (isStop) {
    advancePhase(config, "cancel", state.phase, state.iteration_count);
    throw error;
  }
  const { progress } = servicesOf(config);
  const heard = progress?.streamedAnswer(taskPathOf(config));
  progress?.answered(taskPathOf(config));
  const phase = advancePhase(config, "error", state.phase, state.iteration_count);
  if (!isAppError(error)) throw error;
  const advice = error.suggestion === undefined ? {} : { suggestion: error.suggestion };
  emit(config, { type: "agentic_loop.error", error_type: error.code, message: error.message, ...advice });
  const { history, limits, onError, clock } = loopCall(config);
  const worked_ms = elapsedMs(clock, state, performance.now());
  const isLate = isOutOfTime(error) || remainingMs(worked_ms, limits) === 0;
  const last_error = userError(error, history);
  const decision = handle(error, "ask_user", { plans, mayAsk: onError === "ask" && !isLate });
  if (decision.kind === "pause_for_user_decision") {
    return {
      phase,
      failure: { ...aboutError(error), plans, ...(heard === undefined ? {} : { heard }) },
      last_error,
      worked_ms,
    };
  }
  const end_reason: EndReason = isLate ? "timeout" : "error";
  const messages = partialMessages(heard, end_reason, state, config);
  // A limit, or a paused service, ends the turn and not the run; the final message says so.
  const isExpected = isLate || error.code === "service_paused";
  if (!isExpected && messages.length === 0 && state.messages.length === 0) throw error;
  return { phase, end_reason, last_error, worked_ms, ...(messages.length === 0 ? {} : { messages }) };
}

/** The error for the user, in the language of the request; details are in the event and the log. */
function userError(error: AppError, history: readonly BaseMessage[]): string {
  const request = textOf(history.findLast(isHumanMessage)?.content ?? "");
  const language = languageOfWords(request);
  return userSentence(error.code, language, adviceOf(error)?.[language]);
}

function aboutError({ code, message, suggestion }: AppError) {
  return { code, message, ...(suggestion === undefined ? {} : { suggestion }) };
}

/**
 * The text already streamed of a failed answer, kept as the turn's last message, as after a stop; none if too short.
 */
export function partialMessages(
  heard: StreamedAnswer | undefined,
  reason: "timeout" | "error" | "cancelled",
  state: LoopState,
  config: LangGraphRunnableConfig,
): AIMessage[] {
  if (heard === undefined) return [];
  const taken = new Set([...loopCall(config).history, ...state.messages].map(({ id }) => id));
  const { message, partial } = toPartial(heard, reason === "cancelled" ? "user_requested" : reason, taken);
  if (!partial.is_stored) return [];
  withEnd(message, reason);
  recordMessages(config, [message]);
  return [message];
}
