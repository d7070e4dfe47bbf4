import { needsApproval } from "./rules/needs-approval.ts";
import { cycle } from "./rules/cycle.ts";
import type { LoopRule, TurnRule } from "./finding.ts";
import type { Guardrail } from "./guardrail.ts";
import { inventedCalls } from "./rules/invented-calls.ts";
import { pendingConfirmation } from "./rules/pending-confirmation.ts";
import { repeatedCall } from "./rules/repeated-call.ts";
import { repeatedText } from "./rules/repeated-text.ts";
import { sameFailure } from "./rules/same-failure.ts";
import { similarCall } from "./rules/similar-call.ts";
import { stagnatingResults } from "./rules/stagnating-results.ts";
import { stagnation } from "./rules/stagnation.ts";
import { stateFlapping } from "./rules/state-flapping.ts";

/** Rules over one call, in order; the first that does not allow decides. */
export const guardrails: Record<string, Guardrail> = { pendingConfirmation, needsApproval };

/** Loop rules over the whole turn; the first that blocks a call decides. */
export const turnRules: Record<LoopRule, TurnRule> = {
  same_failure: sameFailure,
  repeated_call: repeatedCall,
  similar_call: similarCall,
  state_flapping: stateFlapping,
  cycle,
  invented_calls: inventedCalls,
  stagnating_results: stagnatingResults,
  stagnation,
  repeated_text: repeatedText,
};
