import { AppError } from "@millrace/engine/errors/errors";
import type { LoopPhase } from "../../state.ts";

/** What moves the loop from one phase to the next. */
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
  // Asked again in another way, it streams as before.
  stream_started: { calling_llm: "streaming", streaming: "streaming" },
  response_complete: { streaming: "parsing", calling_llm: "parsing" },
  tools_detected: { parsing: "executing" },
  no_tools: { parsing: "complete" },
  // A forced continuation begins a round without tools before it; the table knows no such round.
  reply_continued: { parsing: "preparing" },
  tool_started: { executing: "waiting_tool", waiting_tool: "waiting_tool" },
  tool_complete: { waiting_tool: "aggregating", executing: "aggregating" },
  results_ready: { aggregating: "calling_llm" },
  // A result that is the reply, or a budget that is used up.
  turn_over: { aggregating: "complete", preparing: "complete" },
  reset: { complete: "idle", cancelled: "idle", error: "idle" },
};

/** The phase after an event. Throws `invalid_state` for a move the table does not have; cancel and error always work. */
export function nextPhase(phase: LoopPhase, event: PhaseEvent): LoopPhase {
  if (event === "cancel") return "cancelled";
  if (event === "error") return "error";
  const next = moves[event][phase];
  if (next === undefined) {
    throw new AppError("invalid_state", `The loop cannot take "${event}" while it is ${phase}.`);
  }
  return next;
}
