import { sameFailureReason } from "../../prompts/loop-reasons.ts";
import { stageOf, type TurnRule } from "../finding.ts";
import type { History } from "../history.ts";
import { forgivenFailures, sameFailureStages, type GuardLimits } from "../limits.ts";
import { callKey } from "../signature.ts";
import { plainPath, type CallInTurn } from "../turn.ts";

/**
 * A call that failed twice with the same tool, path and parameters is blocked. Refusals count as failures; a success on
 * the same path clears them.
 */
export const sameFailure: TurnRule = {
  turn(history, limits) {
    const failed = history.latest
      .filter(({ call }) => call.outcome === "failed" || call.outcome === "refused")
      .map(({ call }) => ({ call, times: failuresOf(history, call, limits) }));
    const worst = failed.toSorted((one, other) => other.times - one.times)[0];
    const stage = stageOf(worst?.times ?? 0, sameFailureStages(limits));
    if (worst === undefined || stage === null) return null;
    return { rule: "same_failure", stage, ...sameFailureReason({ ...worst.call, times: worst.times }) };
  },
  call(history, call, limits) {
    const times = failuresOf(history, call, limits);
    if (times < sameFailureStages(limits).block) return null;
    if (history.changesAhead.length > 0) return null;
    return { rule: "same_failure", stage: "block", ...sameFailureReason({ ...call, times }) };
  },
};

/**
 * Failures of exactly this call since the last success that may have fixed it. A new change elsewhere may be the fix
 * too (code before rerunning tests), but not forever: then all failures count, some forgiven.
 */
function failuresOf({ steps }: History, call: CallInTurn, limits: GuardLimits): number {
  const key = callKey(call);
  if (!steps.some((step) => step.key === key && step.call.outcome !== "success")) return 0;
  let recent = 0;
  let all = 0;
  for (const step of steps) {
    const isSuccess = step.call.outcome === "success";
    const isNewChange = step.isNew && step.call.changes;
    if (step.key === key) [recent, all] = isSuccess ? [0, 0] : [recent + 1, all + 1];
    else if (isSuccess && (samePath(step.call, call) || (isNewChange && overlap(step.call, call))))
      [recent, all] = [0, 0];
    else if (isSuccess && isNewChange) recent = 0;
  }
  return Math.max(recent, all - limits.same_failure_limit * forgivenFailures);
}

function samePath(one: CallInTurn, other: CallInTurn): boolean {
  return one.path !== null && one.path === other.path;
}

const placeName = /path|file|source|destination|target|folder|directory/i;

function placesOf(args: Record<string, unknown>): string[] {
  return Object.entries(args).flatMap(([name, value]) =>
    typeof value === "string" && placeName.test(name) ? [plainPath(value)] : [],
  );
}

/** Whether a change concerns a path of the failed call, or the call has none. */
function overlap(change: CallInTurn, failed: CallInTurn): boolean {
  const places = placesOf(failed.args);
  const changed = placesOf(change.args);
  return (
    places.length === 0 || changed.some((one) => places.some((other) => isWithin(one, other) || isWithin(other, one)))
  );
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}
