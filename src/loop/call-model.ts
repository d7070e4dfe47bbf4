import type { AIMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { textOf } from "@millrace/engine/message-kinds";
import { neededRound } from "../guardrails/completion.ts";
import { askInStages } from "./model-call/ask-in-stages.ts";
import { backgroundNews, withNewsIds } from "./sub-agents/background.ts";
import { checkAnswer } from "./limits/check-context.ts";
import type { ModelPrice } from "@millrace/models/registry/model-profile";
import { hasMessage } from "@millrace/engine/message-list";
import { modelOf, offeredTools, priceOf } from "./model-call/ask-model.ts";
import { failedCall } from "./model-call/failed-call.ts";
import { countUsage } from "./model-call/fill-usage.ts";
import { timesOf } from "./model-call/timed-call.ts";
import { afterReply, type Decision } from "./after-reply.ts";
import { documentationSince, recallDocumentation } from "./view/documentation.ts";
import { isForcedNow, uncalledTool } from "./model-call/callable-tools.ts";
import { stripHintsFromCalls } from "./reply/strip-hints.ts";
import { costOf, elapsedMs } from "./limits/limits.ts";
import { hasCall, repairArguments } from "./reply/reply-calls.ts";
import { cutCalls, toMessage, withEnd, withSources, type TakenIds } from "./reply/reply-message.ts";
import { notCalled } from "./reply/final-text.ts";
import { advancePhase } from "./limits/advance-phase.ts";
import { emit, loopCall, recordMessages, type LoopCall } from "./request.ts";
import { logUnfinished, emitTaskProgress, turnOf } from "./limits/review.ts";
import { runIdOf, servicesOf, sessionIdOf, taskPathOf } from "./services.ts";
import { newNotes } from "./view/prompt.ts";
import { hasHints } from "./view/pruned-view.ts";
import type { LoopState, LoopUpdate } from "./state.ts";
import { emitVendorSearch } from "./model-call/vendor-search.ts";

/**
 * One model call with its retries (law 4) and fallbacks. A final failure becomes a question to the user if the run
 * wants that. Otherwise it ends the run if the turn has produced nothing yet, else only the turn, with what is known.
 */
export async function callModel(before: LoopState, config: LangGraphRunnableConfig): Promise<LoopUpdate> {
  const call = loopCall(config);
  recordMessages(config, before.messages);
  recallDocumentation(before, call);
  const { progress } = servicesOf(config);
  call.news = await backgroundNews(before, call, config);
  call.rules = documentationSince(before.messages, call, servicesOf(config).workspace);
  const result = await askInStages(before, call, config);
  if (result.kind === "failed") return failedCall(result.error, result.plans, before, config);
  const { answer, prompt, state } = result;
  const added = newNotes(state, call);
  // Documentation is not part of the conversation.
  const round = prompt.length - 1 - (call.documentation?.length ?? 0);
  const price = priceOf(state, call, config);
  const taken: TakenIds = {
    message: (id) => hasMessage(call.history, id) || hasMessage(state.messages, id),
    call: (id) => hasCall(call.history, id) || hasCall(state.messages, id),
  };
  const message = toMessage(answer, taken, {
    model: modelOf(state, call),
    price,
    runId: runIdOf(config),
    callId: call.modelCallId,
    conversationRound: round,
    forcedBy: state.forced?.kind,
  });
  repairArguments(message, call.tools, cutCalls(message));
  if (hasHints(call)) stripHintsFromCalls(message);
  withNewsIds(message, call.news);
  checkAnswer(message, call, config);
  emitVendorSearch(message, modelOf(state, call), call, config);
  const decision = decideOn(message, state, call, config);
  const messages = messagesOf(message, decision, call, config);
  recordMessages(config, messages);
  progress?.answered(taskPathOf(config));
  await countUsage(message, { model: modelOf(state, call), price, times: timesOf(call) }, config);
  emitUsage(message, { state, call, round }, config);
  return {
    ...(messages.length === 0 ? {} : { messages }),
    worked_ms: elapsedMs(call.clock, before, performance.now()),
    ...(added.length === 0 ? {} : { notes: [...state.notes, ...added] }),
    ...(state.offered === null && state.alternative !== "without_tools"
      ? { offered: offeredTools(state, call).map(({ name }) => name) }
      : {}),
    ...spent(message, state, price),
    ...(state.alternative === before.alternative ? {} : { alternative: state.alternative }),
    ...(state.unstreamed === before.unstreamed ? {} : { unstreamed: state.unstreamed }),
    ...afterwards(decision, state, config),
  };
}

/**
 * The messages a reply adds: itself with its end reason, and a note if the chosen tool was not called. An empty reply
 * adds none: some providers refuse it in a history.
 */
function messagesOf(
  message: AIMessage,
  decision: Decision,
  call: LoopCall,
  config: LangGraphRunnableConfig,
): AIMessage[] {
  const text = textOf(message.content);
  const shown = decision.kind !== "calls" && text.trim() === "" ? [] : [message];
  if (decision.kind !== "end") return shown;
  if (decision.uncalled !== undefined) return [...shown, notCalled(decision.uncalled, call)];
  withSources(withEnd(message, decision.reason), call);
  if (!call.silent) logUnfinished(text, config);
  return shown;
}

/** Decides what follows the reply (law 7). The turn is parsed only if needed. */
function decideOn(message: AIMessage, state: LoopState, call: LoopCall, config: LangGraphRunnableConfig): Decision {
  const calls = message.tool_calls?.length ?? 0;
  const { max_force_continue } = call.limits;
  let turn: ReturnType<typeof turnOf> | undefined;
  const read = (): ReturnType<typeof turnOf> => (turn ??= turnOf([...state.messages, message], call));
  const text = textOf(message.content);
  // Work can be left only if there are tools, and none once the user's chosen tool has run.
  const mayOwe =
    state.closing === null &&
    offeredTools(state, call).length > 0 &&
    (call.forcedTool === undefined || isForcedNow(state.messages, call));
  if (calls === 0 && mayOwe && !call.silent) emitTaskProgress(read(), config);
  return afterReply(
    { text, calls },
    {
      closing: state.closing,
      forced: state.forced_count,
      maxForced: call.silent ? 0 : max_force_continue,
      uncalled: uncalledTool(state, call),
      neededRound: () =>
        mayOwe || text.trim() === ""
          ? neededRound(read(), { ...call, forced: state.forced_count, limit: max_force_continue })
          : null,
      isIncomplete: () => mayOwe && call.completion?.assess(read()).verdict === "incomplete",
    },
  );
}

function afterwards(decision: Decision, state: LoopState, config: LangGraphRunnableConfig): LoopUpdate {
  advancePhase(config, "response_complete", state.phase, state.iteration_count);
  const cleared = state.forced === null ? {} : { forced: null };
  switch (decision.kind) {
    case "calls":
      return { ...cleared, phase: advancePhase(config, "tools_detected", state.phase, state.iteration_count) };
    case "force": {
      const { round } = decision;
      const forced_count = state.forced_count + 1;
      emit(config, { type: "forced_continuation", kind: round.kind, count: forced_count });
      return {
        forced: round,
        forced_count,
        phase: advancePhase(config, "reply_continued", state.phase, state.iteration_count),
      };
    }
    case "end":
      return {
        ...cleared,
        end_reason: decision.reason,
        phase: advancePhase(config, "no_tools", state.phase, state.iteration_count),
      };
  }
}

function spent({ usage_metadata: usage }: AIMessage, state: LoopState, price: ModelPrice | undefined): LoopUpdate {
  if (usage === undefined) return {};
  const { input_tokens: input, output_tokens: output } = usage;
  const cost = price === undefined ? 0 : costOf({ input, output }, price);
  return {
    total_tokens_used: state.total_tokens_used + usage.total_tokens,
    ...(cost === 0 ? {} : { total_cost: state.total_cost + cost }),
  };
}

function emitUsage(
  message: AIMessage,
  { state, call, round }: { state: LoopState; call: LoopCall; round: number },
  config: LangGraphRunnableConfig,
): void {
  const { usage_metadata: usage } = message;
  if (usage !== undefined) {
    const { input_tokens, output_tokens, total_tokens } = usage;
    const cached_tokens = usage.input_token_details?.cache_read ?? 0;
    emit(config, { type: "token_usage", input_tokens, output_tokens, total_tokens, cached_tokens });
    if (cached_tokens > 0) {
      const about = { session_id: sessionIdOf(config), run_id: runIdOf(config) };
      const hit_ratio = cached_tokens / Math.max(1, input_tokens);
      servicesOf(config).logger?.info({ ...about, cached_tokens, hit_ratio }, "prompt_cache_hit");
    }
  }
  emit(config, {
    type: "agentic_loop.iteration",
    iteration: state.iteration_count,
    max_iterations: call.limits.max_iterations,
    tool_calls_count: message.tool_calls?.length ?? 0,
    total_tokens: state.total_tokens_used + (usage?.total_tokens ?? 0),
  });
  const seen = state.view?.tokens ?? 0;
  emit(config, {
    type: "window_length",
    tokens_used: state.view?.whole ?? seen,
    pruned_tokens_used: seen,
    conversation_round: round,
  });
}
