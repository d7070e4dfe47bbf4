import type { History } from "./history.ts";
import type { GuardLimits, Stages } from "./limits.ts";
import type { CallInTurn } from "./turn.ts";

/** Names of the loop rules. */
export type LoopRule =
  | "same_failure"
  | "repeated_call"
  | "similar_call"
  | "cycle"
  | "invented_calls"
  | "repeated_text"
  | "stagnation"
  | "stagnating_results"
  | "state_flapping";

/**
 * A rule's finding. `warn`: a note for the model; `block`: the call is not run; `finish`: no more calls are allowed.
 * `reason` and `suggestions` are English, for the model.
 */
export interface Finding {
  rule: LoopRule;
  stage: "warn" | "block" | "finish";
  reason: string;
  suggestions: string[];
}

/** A pure rule over the whole turn. */
export interface TurnRule {
  /** Runs before a model call. Reports only loops that include the latest reply, so that old ones are not repeated. */
  turn(history: History, limits: GuardLimits): Finding | null;
  /** Runs before a tool call: whether the call would continue a loop. */
  call?(history: History, call: CallInTurn, limits: GuardLimits): Finding | null;
}

/** The stage a count has reached before a model call; a block is still reported as a warning. */
export function stageOf(count: number, { warn, finish }: Pick<Stages, "warn" | "finish">): "warn" | "finish" | null {
  if (count >= finish) return "finish";
  return count >= warn ? "warn" : null;
}
