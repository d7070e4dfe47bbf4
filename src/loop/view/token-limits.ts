import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { historyTokens, inputTokens } from "../../context/budget.ts";
import { cutEarly, earlyLimit, roomAfterCut } from "../../context/compression/shorter-history.ts";
import { countMessages } from "../../context/tokens/tokens.ts";
import { modelOf } from "../model-call/ask-model.ts";
import { emit, type LoopCall } from "../request.ts";
import { profilesOf } from "../services.ts";
import type { PrunedView, LoopState } from "../state.ts";

/** Tokens of a view besides the conversation, tokens added per message, and the window. */
interface FixedTokens {
  before: number;
  eachTokens: number;
  limit: number;
}

/**
 * The token limit for messages if a document's conversation is cut early, else `undefined`. Fixed for the call, so that
 * views share a prefix.
 */
export function earlyCutLimit(
  { history, turn }: PrunedView,
  { before, eachTokens, limit }: FixedTokens,
  state: LoopState,
  call: LoopCall,
  config: LangGraphRunnableConfig,
): number | undefined {
  if (call.room?.cutsEarly !== true) return undefined;
  if (state.view?.early !== undefined) return state.view.early;
  const { max_tokens, output } = profilesOf(config)(modelOf(state, call));
  const threshold = earlyLimit(max_tokens ?? output, limit);
  const weigh = (messages: PrunedView["history"]): number => countMessages(messages) + messages.length * eachTokens;
  const fixed = before + weigh(turn);
  const tokens_before = fixed + weigh(history);
  if (tokens_before <= threshold) return undefined;
  const room = roomAfterCut(threshold, fixed);
  const tokens_after = fixed + weigh(cutEarly(history, room).shown);
  emit(config, { type: "context_overflow", step: "early", tokens_before, tokens_after, limit: threshold });
  return room;
}

/** The history's token limit by the run's shares; unlimited without them. */
export function historyLimit(
  { before, limit }: FixedTokens,
  state: LoopState,
  call: LoopCall,
  config: LangGraphRunnableConfig,
): number {
  const shares = call.room?.shares;
  if (shares === undefined) return Infinity;
  const { output } = profilesOf(config)(modelOf(state, call));
  return historyTokens(inputTokens({ context: limit, output }), shares, before);
}

/** Emits once per call that older rounds are left out. */
export function emitRounds(call: LoopCall, config: LangGraphRunnableConfig): void {
  const { max_history_rounds: max_rounds } = call.limits;
  if (call.earlier.length === 0 || max_rounds === null || call.emitted.has("rounds")) return;
  call.emitted.add("rounds");
  emit(config, { type: "context_rounds", left_out: call.earlier.length, max_rounds });
}
