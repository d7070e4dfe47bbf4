import { isHumanMessage, type BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { textOf } from "@millrace/engine/message-kinds";
import { reviewTurn, type Finding } from "../../guardrails/manager.ts";
import { completenessOf } from "../../guardrails/reply-completeness.ts";
import { readTurn, type Turn } from "../../guardrails/turn.ts";
import { emit, loopCall, type LoopCall } from "../request.ts";
import { runIdOf, servicesOf, sessionIdOf } from "../services.ts";

/** The turn so far, read off this call's messages; `added` are newer than the state. */
export function turnOf(messages: readonly BaseMessage[], call: LoopCall): Turn {
  const userRequest = call.instruction ?? textOf(call.history.findLast(isHumanMessage)?.content ?? "");
  return readTurn(messages, { userRequest, tools: call.tools });
}

/** What the rules against loops say before a model call. The turn is read once for each state of the messages. */
export function findingsOf(messages: readonly BaseMessage[], call: LoopCall): Finding[] {
  // Nothing has been said yet. Where there are no tools, a model may still invent some.
  if (messages.length === 0) return [];
  const last = messages.at(-1);
  if (call.review?.last === last && call.review?.count === messages.length) return call.review.findings;
  const findings = reviewTurn(turnOf(messages, call), call.limits);
  call.review = { last, count: messages.length, findings };
  return findings;
}

/** Tells each finding once, as an event and in the log. */
export function tellFindings(findings: readonly Finding[], config: LangGraphRunnableConfig): void {
  const call = loopCall(config);
  for (const { rule, stage, reason } of findings) {
    const key = `${rule} ${stage}`;
    if (call.told.has(key)) continue;
    call.told.add(key);
    emit(config, { type: "loop_detected", rule, stage, reason });
    const { logger } = servicesOf(config);
    logger?.warn({ session_id: sessionIdOf(config), run_id: runIdOf(config), rule, stage }, "loop_detected");
  }
}

/** Logs a reply that ends a turn and looks unfinished; its words stay as they are. */
export function logUnfinished(reply: string, config: LangGraphRunnableConfig): void {
  const completeness = completenessOf(reply);
  if (completeness.complete || completeness.why === "empty") return;
  const about = { session_id: sessionIdOf(config), run_id: runIdOf(config) };
  servicesOf(config).logger?.warn({ ...about, why: completeness.why }, "reply_looks_unfinished");
}

/** Tells how far a task of several steps is, when that has changed. */
export function tellTask(turn: Turn, config: LangGraphRunnableConfig): void {
  const call = loopCall(config);
  if (call.completion === undefined) return;
  const { task, verdict, done, total, remaining } = call.completion.assess(turn);
  const key = JSON.stringify([task, verdict, done, total]);
  if (task === null || verdict === "none" || call.told.has(key)) return;
  call.told.add(key);
  emit(config, { type: "task_progress", task, verdict, done, total, remaining });
}
