import { randomUUID } from "node:crypto";
import { isAIMessage, isHumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { textOf } from "@millrace/engine/message-kinds";
import { afterTools } from "./after-reply.ts";
import { checkOutcome } from "./limits/check-context.ts";
import { finalMessage, programMessage } from "./reply/final-text.ts";
import { elapsedMs } from "./limits/limits.ts";
import { emit, loopCall, recordMessages } from "./request.ts";
import type { EndReason, LoopState, LoopUpdate } from "./state.ts";

/**
 * Ends the loop, whatever ended it: makes sure there is an answer in words with the end reason, and that every call has
 * a result.
 */
export async function finish(state: LoopState, config: LangGraphRunnableConfig): Promise<LoopUpdate> {
  const call = loopCall(config);
  const reason: EndReason = state.end_reason ?? state.closing ?? "answered";
  const userRequest = textOf(call.history.findLast(isHumanMessage)?.content ?? "");
  const messages = closingMessages(state, reason, userRequest);
  const worked_ms = elapsedMs(call.clock, state, performance.now());
  emit(config, {
    type: "agentic_loop.complete",
    iterations: state.iteration_count,
    total_tokens: state.total_tokens_used,
    end_reason: reason,
    duration_ms: worked_ms,
  });
  const whole = [...state.messages, ...messages];
  checkOutcome(whole, call, config);
  recordMessages(config, whole);
  call.phase = "idle";
  return { messages, end_reason: reason, worked_ms, phase: reason === "error" ? "error" : "complete" };
}

/** Messages needed for a valid end; empty if the last reply is one. */
function closingMessages(state: LoopState, reason: EndReason, userRequest: string): BaseMessage[] {
  const shown = afterTools(state.messages);
  if (shown !== null) return [programMessage(shown.text, reason)];
  const last = state.messages.at(-1);
  const added: BaseMessage[] = [];
  if (last !== undefined && isAIMessage(last)) {
    for (const open of last.tool_calls ?? []) added.push(notRun(open.id ?? "", open.name));
    const isAnswer = added.length === 0 && textOf(last.content).trim() !== "";
    // A reply that should have been continued does not say why the turn ended.
    const saysWhy = reason !== "guardrail" || state.closing !== null;
    if (isAnswer && saysWhy) return [];
  }
  return [...added, finalMessage(state, reason, userRequest)];
}

function notRun(callId: string, name: string): ToolMessage {
  return new ToolMessage({
    id: randomUUID(),
    tool_call_id: callId,
    name,
    status: "error",
    content: "Not run: the turn had to end here.",
  });
}
