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

/** Looks at what a loop call was given, and at its system text; what it is given stays so to its end. */
export function checkRequest(call: LoopCall, config: LangGraphRunnableConfig): void {
  const { system, parts } = call;
  const found = parts === undefined ? [] : checkSystem(parts, countText(system));
  tell([...checkStart(call), ...found], call, config);
}

/** Looks at how full the window is, once all that may be left out of the view is left out. */
export function checkView(tokens: number, limit: number, call: LoopCall, config: LangGraphRunnableConfig): void {
  tell(checkTokens(tokens, limit), call, config);
}

/** Looks at the messages that are about to be sent. */
export function checkPrompt(messages: readonly BaseMessage[], call: LoopCall, config: LangGraphRunnableConfig): void {
  tell(checkMessages(messages), call, config);
}

/** Looks at a whole reply. */
export function checkAnswer(message: BaseMessage, call: LoopCall, config: LangGraphRunnableConfig): void {
  tell(checkReply(message), call, config);
}

/** Looks at what the turn has added, at its end. */
export function checkOutcome(messages: readonly BaseMessage[], call: LoopCall, config: LangGraphRunnableConfig): void {
  tell(checkEnd(messages), call, config);
}

/**
 * Each problem once. The call is made nevertheless: the view was mended and shortened before, tokens are estimates, and
 * what a provider refuses is tried in other ways.
 */
function tell(found: readonly IntegrityProblem[], call: LoopCall, config: LangGraphRunnableConfig): void {
  for (const one of found) {
    const key = `context_check ${one.moment} ${one.problem}`;
    if (call.told.has(key)) continue;
    call.told.add(key);
    emit(config, { type: "context_check", ...one });
    const about = { session_id: sessionIdOf(config), run_id: runIdOf(config) };
    servicesOf(config).logger?.warn({ ...about, ...one }, "context_check");
  }
}
