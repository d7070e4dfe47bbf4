import { inventedCallsReason } from "../../prompts/loop-reasons.ts";
import { stageOf, type TurnRule } from "../finding.ts";
import { inventedRounds } from "../limits.ts";

/** Consecutive replies that only call unknown tools, also in a chat without tools. */
export const inventedCalls: TurnRule = {
  turn({ turn: { rounds } }) {
    const lastOther = rounds.findLastIndex(({ calls }) => calls.length === 0 || calls.some(({ unknown }) => !unknown));
    const times = rounds.length - 1 - lastOther;
    const stage = stageOf(times, inventedRounds);
    return stage === null ? null : { rule: "invented_calls", stage, ...inventedCallsReason({ times }) };
  },
};
