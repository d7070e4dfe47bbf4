import { isToolMessage, type BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { AppError } from "@millrace/engine/errors/errors";
import type { LoopPhase, Orchestration } from "../../state.ts";
import { emitEvent } from "../services.ts";

/** State of a turn; the session's record is `Orchestration`. */
export type TurnState = Orchestration["state"];

/**
 * Allowed state changes of a turn: `plan` judges what it needs, `decide` continues, summarises or asks. A turn without
 * tools goes from `plan` to its reply; each next step of a plan is judged again. Every turn begins at `idle`.
 */
const moves: Record<TurnState, readonly TurnState[]> = {
  idle: ["plan"],
  plan: ["tool_call", "decide", "respond", "idle"],
  tool_call: ["tool_result", "idle"],
  tool_result: ["decide", "idle"],
  decide: ["tool_call", "plan", "respond", "idle"],
  respond: ["idle"],
};

/** The new state; staying is allowed. Throws `invalid_state` for a change not in the table. */
export function nextTurnState(from: TurnState, to: TurnState): TurnState {
  if (from === to || moves[from].includes(to)) return to;
  throw new AppError("invalid_state", `The turn cannot go from "${from}" to "${to}".`);
}

/** Changes a turn's state and emits the change. */
export function advance(
  config: Pick<LangGraphRunnableConfig, "writer" | "configurable">,
  from: TurnState,
  to: TurnState,
): TurnState {
  const state = nextTurnState(from, to);
  if (from !== to) emitEvent(config, { type: "orchestration_changed", from_state: from, to_state: to });
  return state;
}

/** The turn's state when the loop enters a phase; phases not listed leave it unchanged. */
export function stateInPhase(state: TurnState, phase: LoopPhase): TurnState {
  switch (phase) {
    case "executing":
    case "waiting_tool":
      return "tool_call";
    case "aggregating":
      return "tool_result";
    case "calling_llm":
    case "complete":
      return state === "tool_result" ? "decide" : state;
    default:
      return state;
  }
}

/** The turn's state after a loop call. `state` is the state at its start. */
export function stateAfterLoop(state: TurnState, messages: readonly BaseMessage[]): TurnState {
  return messages.some((message) => isToolMessage(message)) ? "decide" : state;
}
