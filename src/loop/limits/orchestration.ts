import { isToolMessage, type BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { AppError } from "@millrace/engine/errors/errors";
import type { LoopPhase, Orchestration } from "../../state.ts";
import { tellEvent } from "../services.ts";

/** Where a turn is: see `Orchestration` for the record that a session keeps. */
export type TurnState = Orchestration["state"];

/**
 * The moves of a turn: `plan` judges what the turn needs, `decide` goes on, sums up or asks. A turn without tools goes
 * from `plan` to its reply; a plan's next step is judged anew. Whatever ended the last turn, the next begins at `idle`.
 */
const moves: Record<TurnState, readonly TurnState[]> = {
  idle: ["plan"],
  plan: ["tool_call", "decide", "respond", "idle"],
  tool_call: ["tool_result", "idle"],
  tool_result: ["decide", "idle"],
  decide: ["tool_call", "plan", "respond", "idle"],
  respond: ["idle"],
};

/** The state after a move. Throws `invalid_state` for one the table does not have; staying is no move. */
export function nextTurnState(from: TurnState, to: TurnState): TurnState {
  if (from === to || moves[from].includes(to)) return to;
  throw new AppError("invalid_state", `The turn cannot go from "${from}" to "${to}".`);
}

/** Moves a turn and tells it. */
export function advance(
  config: Pick<LangGraphRunnableConfig, "writer" | "configurable">,
  from: TurnState,
  to: TurnState,
): TurnState {
  const state = nextTurnState(from, to);
  if (from !== to) tellEvent(config, { type: "orchestration_changed", from_state: from, to_state: to });
  return state;
}

/** Where the turn goes when the loop enters a phase; the loop's other phases leave it where it is. */
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

/** Where a loop call leaves its turn: calls, and their results, are behind it. `state` is as the call was handed over. */
export function stateAfterLoop(state: TurnState, messages: readonly BaseMessage[]): TurnState {
  return messages.some((message) => isToolMessage(message)) ? "decide" : state;
}
