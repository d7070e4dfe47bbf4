import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import type { LoopPhase } from "../../state.ts";
import { advance, stateInPhase } from "./orchestration.ts";
import { nextPhase, type PhaseEvent } from "./phases.ts";
import { emit, loopCall } from "../request.ts";

/**
 * Moves the loop's phase and tells it. `stored` is the phase in the state: after a restart the memory starts at `idle`
 * and takes up from there.
 */
export function move(
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
  // What only the program reads is a part of planning, and what a sub-agent does is one of a call: no step of the turn.
  if (!call.silent && call.agent === undefined)
    call.turnState = advance(config, call.turnState, stateInPhase(call.turnState, to));
  if (from !== to) {
    const context = { node: call.node, turn_state: call.turnState };
    emit(config, { type: "agentic_loop.state_changed", from_state: from, to_state: to, iteration, context });
  }
  return to;
}
