import { blockedRoundsReason, pollingReason, repeatedCallReason } from "../../prompts/loop-reasons.ts";
import { stageOf, type TurnRule } from "../finding.ts";
import { sinceChange, type History } from "../history.ts";
import { blockedRounds, pollingStages, repeatedCallStages, shortSuccession } from "../limits.ts";
import { callKey, sameResult } from "../signature.ts";
import type { CallInTurn, PastCall, Turn } from "../turn.ts";

/**
 * The same call with the same result, in short succession and without a change in between. Polling tools may repeat far
 * longer.
 */
export const repeatedCall: TurnRule = {
  turn(history) {
    if (isOnlyBlocked(history.turn)) {
      return { rule: "repeated_call", stage: "finish", ...blockedRoundsReason({ rounds: blockedRounds }) };
    }
    const repeated = history.latest.map(({ call }) => ({ call, times: timesOf(history, call) }));
    const found = repeated.flatMap(({ call, times }) => {
      const stage = stageOf(times, stagesFor(call));
      return stage === null ? [] : [{ rule: "repeated_call" as const, stage, ...reasonFor(call, times) }];
    });
    return found.find(({ stage }) => stage === "finish") ?? found[0] ?? null;
  },
  call(history, call) {
    const times = timesOf(history, call);
    if (times < stagesFor(call).block || (!call.polling && history.changesAhead.length > 0)) return null;
    return { rule: "repeated_call", stage: "block", ...reasonFor(call, times) };
  },
};

const stagesFor = (call: CallInTurn): typeof pollingStages => (call.polling ? pollingStages : repeatedCallStages);

function reasonFor(call: CallInTurn, times: number): ReturnType<typeof pollingReason> {
  return call.polling ? pollingReason({ tool: call.tool, times }) : repeatedCallReason({ tool: call.tool, times });
}

/** How often the call had its last result. Failures have their own rule. */
function timesOf(history: History, call: CallInTurn): number {
  const key = callKey(call);
  if (call.polling) return unchangedPolls(history, key);
  const steps = sinceChange(history, shortSuccession, (step) => step.key === key).filter((step) => step.key === key);
  const last = steps.findLast((step) => step.call.outcome !== "refused");
  if (last?.call.outcome !== "success") return 0;
  return steps.filter(({ observation }) => observation === last.observation).length;
}

function unchangedPolls({ steps }: History, key: string): number {
  const polls = steps.filter((step) => step.key === key);
  const last = polls.findLast(({ call }) => call.outcome !== "refused")?.call;
  if (last === undefined) return 0;
  const changed = polls.findLastIndex(({ call }) => call.outcome !== "refused" && !sameResult(call, last));
  return polls.length - 1 - changed;
}

/** Whether the latest replies only made blocked calls. */
function isOnlyBlocked({ rounds }: Turn): boolean {
  const latest = rounds.slice(-blockedRounds);
  const isBlocked = ({ outcome, result }: PastCall): boolean =>
    outcome === "refused" && result.includes('"blocked":true');
  return latest.length === blockedRounds && latest.every(({ calls }) => calls.length > 0 && calls.every(isBlocked));
}
