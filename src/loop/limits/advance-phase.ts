import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import type { LoopPhase } from "../../state.ts";
import { advance, stateInPhase } from "./orchestration.ts";
import { nextPhase, type PhaseEvent } from "./phases.ts";
import { emit, loopCall } from "../request.ts";

/**
 * Advances the loop's phase and emits the change. `stored` is the state's phase: after a restart memory starts at
 * `idle` and continues from there.
 */
export function advancePhase(
  config: LangGraphRunnableConfig,
  event: PhaseEvent,
  stored: LoopPhase,
  iteration: number,
): LoopPhase {
  const call = loopCall(config);
  if (call.phase === "idle" && event !== "start") {
    call.phase = stored;
    call.turnState = stateInPhase(iteration > 1 ? "decide" : call.turnState, stored);
  }
  const from = call.phase;
  const to = nextPhase(from, event);
  call.phase = to;
  // Silent calls belong to planning and sub-agents to a call; neither moves the turn.
  if (!call.silent && call.agent === undefined)
    call.turnState = advance(config, call.turnState, stateInPhase(call.turnState, to));
  if (from !== to) {
    const context = { node: call.node, turn_state: call.turnState };
    emit(config, { type: "agentic_loop.state_changed", from_state: from, to_state: to, iteration, context });
  }
  return to;
}
