import type { History } from "./history.ts";
import type { GuardLimits, Stages } from "./limits.ts";
import type { CallInTurn } from "./turn.ts";

/** The rules against loops, by name. */
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
 * What a rule has found. `warn`: a note for the model; `block`: this call is not run; `finish`: the model is not asked
 * for more calls. `reason` and `suggestions` are English and for the model.
 */
export interface Finding {
  rule: LoopRule;
  stage: "warn" | "block" | "finish";
  reason: string;
  suggestions: string[];
}

/** A rule over the whole turn: pure, without memory of its own. */
export interface TurnRule {
  /** Before a model call. Only what the latest reply took part in is found, so that an old loop is not told again. */
  turn(history: History, limits: GuardLimits): Finding | null;
  /** Before a tool call: whether it would go on with a loop. */
  call?(history: History, call: CallInTurn, limits: GuardLimits): Finding | null;
}

/** The stage before a model call that a count has reached; a block is still told as a note. */
export function stageOf(count: number, { warn, finish }: Pick<Stages, "warn" | "finish">): "warn" | "finish" | null {
  if (count >= finish) return "finish";
  return count >= warn ? "warn" : null;
}
