import type { BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import {
  checkEnd,
  checkMessages,
  checkReply,
  checkStart,
  checkSystem,
  checkTokens,
  type IntegrityProblem,
} from "../../context/integrity.ts";
import { countText } from "../../context/tokens/tokens.ts";
import { emit, type LoopCall } from "../request.ts";
import { runIdOf, servicesOf, sessionIdOf } from "../services.ts";

/** Checks a loop call's input and its system text, which stay the same to its end. */
export function checkRequest(call: LoopCall, config: LangGraphRunnableConfig): void {
  const { system, parts } = call;
  const found = parts === undefined ? [] : checkSystem(parts, countText(system));
  report([...checkStart(call), ...found], call, config);
}

/** Checks how full the window is after everything optional was left out. */
export function checkView(tokens: number, limit: number, call: LoopCall, config: LangGraphRunnableConfig): void {
  report(checkTokens(tokens, limit), call, config);
}

/** Checks the messages before they are sent. */
export function checkPrompt(messages: readonly BaseMessage[], call: LoopCall, config: LangGraphRunnableConfig): void {
  report(checkMessages(messages), call, config);
}

/** Checks a complete reply. */
export function checkAnswer(message: BaseMessage, call: LoopCall, config: LangGraphRunnableConfig): void {
  report(checkReply(message), call, config);
}

/** Checks the turn's messages at its end. */
export function checkOutcome(messages: readonly BaseMessage[], call: LoopCall, config: LangGraphRunnableConfig): void {
  report(checkEnd(messages), call, config);
}

/**
 * Reports each problem once. The call is made all the same: the view was already repaired and shortened, tokens are
 * estimates, and a provider's refusal has fallbacks.
 */
function report(found: readonly IntegrityProblem[], call: LoopCall, config: LangGraphRunnableConfig): void {
  for (const one of found) {
    const key = `context_check ${one.moment} ${one.problem}`;
    if (call.emitted.has(key)) continue;
    call.emitted.add(key);
    emit(config, { type: "context_check", ...one });
    const about = { session_id: sessionIdOf(config), run_id: runIdOf(config) };
    servicesOf(config).logger?.warn({ ...about, ...one }, "context_check");
  }
}
