import { AppError } from "@millrace/engine/errors/errors";
import type { LoopPhase } from "../../state.ts";

/** Events that change the loop's phase. */
export type PhaseEvent =
  | "start"
  | "prompt_ready"
  | "stream_started"
  | "response_complete"
  | "tools_detected"
  | "no_tools"
  | "reply_continued"
  | "tool_started"
  | "tool_complete"
  | "results_ready"
  | "turn_over"
  | "cancel"
  | "error"
  | "reset";

const moves: Record<Exclude<PhaseEvent, "cancel" | "error">, Partial<Record<LoopPhase, LoopPhase>>> = {
  start: { idle: "preparing" },
  prompt_ready: { preparing: "calling_llm" },
  // A repeated request streams again.
  stream_started: { calling_llm: "streaming", streaming: "streaming" },
  response_complete: { streaming: "parsing", calling_llm: "parsing" },
  tools_detected: { parsing: "executing" },
  no_tools: { parsing: "complete" },
  // A forced continuation starts a round without tool calls before it.
  reply_continued: { parsing: "preparing" },
  tool_started: { executing: "waiting_tool", waiting_tool: "waiting_tool" },
  tool_complete: { waiting_tool: "aggregating", executing: "aggregating" },
  results_ready: { aggregating: "calling_llm" },
  // The turn ends with a tool result, or because a budget is spent.
  turn_over: { aggregating: "complete", preparing: "complete" },
  reset: { complete: "idle", cancelled: "idle", error: "idle" },
};

/**
 * The phase after an event; `cancel` and `error` are always allowed. Throws `invalid_state` for a change not in the
 * table.
 */
export function nextPhase(phase: LoopPhase, event: PhaseEvent): LoopPhase {
  if (event === "cancel") return "cancelled";
  if (event === "error") return "error";
  const next = moves[event][phase];
  if (next === undefined) {
    throw new AppError("invalid_state", `The loop cannot take "${event}" while it is ${phase}.`);
  }
  return next;
}
