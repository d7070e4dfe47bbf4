import { isHumanMessage, type BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { textOf } from "@millrace/engine/message-kinds";
import { reviewTurn, type Finding } from "../../guardrails/review-turn.ts";
import { looksCut } from "../../guardrails/reply-completeness.ts";
import { readTurn, type Turn } from "../../guardrails/turn.ts";
import { emit, loopCall, type LoopCall } from "../request.ts";
import { runIdOf, servicesOf, sessionIdOf } from "../services.ts";

/** The turn so far, from this call's messages. */
export function turnOf(messages: readonly BaseMessage[], call: LoopCall): Turn {
  const userRequest = call.instruction ?? textOf(call.history.findLast(isHumanMessage)?.content ?? "");
  return readTurn(messages, { userRequest, tools: call.tools });
}

/** Findings of the loop rules before a model call; computed once per state of the messages. */
export function findingsOf(messages: readonly BaseMessage[], call: LoopCall): Finding[] {
  // Checked even without tools: a model may invent calls.
  if (messages.length === 0) return [];
  const last = messages.at(-1);
  if (call.review?.last === last && call.review?.count === messages.length) return call.review.findings;
  const findings = reviewTurn(turnOf(messages, call), call.limits);
  call.review = { last, count: messages.length, findings };
  return findings;
}

/** Emits and logs each finding once. */
export function emitFindings(findings: readonly Finding[], config: LangGraphRunnableConfig): void {
  const call = loopCall(config);
  for (const { rule, stage, reason } of findings) {
    const key = `${rule} ${stage}`;
    if (call.emitted.has(key)) continue;
    call.emitted.add(key);
    emit(config, { type: "loop_detected", rule, stage, reason });
    const { logger } = servicesOf(config);
    logger?.warn({ session_id: sessionIdOf(config), run_id: runIdOf(config), rule, stage }, "loop_detected");
  }
}

/** Logs a final reply that looks cut; its text stays as it is. */
export function logUnfinished(reply: string, config: LangGraphRunnableConfig): void {
  const why = looksCut(reply);
  if (why === undefined) return;
  const about = { session_id: sessionIdOf(config), run_id: runIdOf(config) };
  servicesOf(config).logger?.warn({ ...about, why }, "reply_looks_unfinished");
}

/** Emits the progress of a task of several steps when it changed. */
export function emitTaskProgress(turn: Turn, config: LangGraphRunnableConfig): void {
  const call = loopCall(config);
  if (call.completion === undefined) return;
  const { task, verdict, done, total, remaining } = call.completion.assess(turn);
  const key = JSON.stringify([task, verdict, done, total]);
  if (task === null || verdict === "none" || call.emitted.has(key)) return;
  call.emitted.add(key);
  emit(config, { type: "task_progress", task, verdict, done, total, remaining });
}
