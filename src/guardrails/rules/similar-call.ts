import { similarCallReason } from "../../prompts/loop-reasons.ts";
import { stageOf, type TurnRule } from "../finding.ts";
import { sinceChange, type History, type Step } from "../history.ts";
import { shortSuccession, similarCallStages } from "../limits.ts";
import { sameResult, similarKey } from "../signature.ts";
import type { CallInTurn } from "../turn.ts";

/** Calls that differ only in case, whitespace, order or amounts, with the same result. */
export const similarCall: TurnRule = {
  turn(history) {
    const similar = history.latest.map(({ call }) => ({ tool: call.tool, times: timesOf(history, call) }));
    const worst = similar.toSorted((one, other) => other.times - one.times)[0];
    const stage = stageOf(worst?.times ?? 0, similarCallStages);
    return worst === undefined || stage === null ? null : { rule: "similar_call", stage, ...similarCallReason(worst) };
  },
  call(history, call) {
    const times = timesOf(history, call);
    if (times < similarCallStages.block) return null;
    const others = history.changesAhead.filter((change) => similarKey(change) !== similarKey(call));
    if (others.length > 0) return null;
    return { rule: "similar_call", stage: "block", ...similarCallReason({ tool: call.tool, times }) };
  },
};

/** Number of similar calls with the same result; 0 if all are identical. */
function timesOf(history: History, call: CallInTurn): number {
  if (call.polling) return 0;
  const key = similarKey(call);
  const isPart = (step: Step): boolean => step.call.tool === call.tool && similarKey(step.call) === key;
  const similar = sinceChange(history, shortSuccession, isPart).filter(isPart);
  const last = similar.findLast((step) => step.call.outcome !== "refused");
  if (last === undefined) return 0;
  const alike = similar.filter((step) => step.call.outcome === "refused" || sameResult(step.call, last.call));
  return new Set(alike.map((step) => step.key)).size > 1 ? alike.length : 0;
}
