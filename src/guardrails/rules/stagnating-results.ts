import { sameResultsReason } from "../../prompts/loop-reasons.ts";
import { stageOf, type TurnRule } from "../finding.ts";
import { latestSteps, type History, type Step } from "../history.ts";
import { sameResultStages } from "../limits.ts";
import { sameResult } from "../signature.ts";

/**
 * Different calls of one tool that keep bringing the same result. Going through a list that somebody gave is honest
 * work even when nothing is found, so only guesses (calls with no value of their own from the request or an earlier
 * result) count. Changes that report the same success are honest too.
 */
export const stagnatingResults: TurnRule = {
  turn(history) {
    const last = latestSteps(history).at(-1);
    const streak = streakOf(history);
    const stage = stageOf(guessesIn(streak, history), sameResultStages);
    if (last === undefined || stage === null) return null;
    const reason = sameResultsReason({ tool: last.call.tool, times: streak.length });
    return { rule: "stagnating_results", stage, ...reason };
  },
  call(history, call) {
    const streak = streakOf(history);
    if (streak[0]?.call.tool !== call.tool || call.polling) return null;
    if (history.changesAhead.length > 0 || guessesIn(streak, history) < sameResultStages.block) return null;
    return {
      rule: "stagnating_results",
      stage: "block",
      ...sameResultsReason({ tool: call.tool, times: streak.length }),
    };
  },
};

/** The last steps in a row that are calls of one tool with one result, most of them different; refused ones count as such. */
function streakOf({ steps }: History): Step[] {
  const model = steps.findLast(({ call }) => call.outcome !== "refused")?.call;
  if (model === undefined || model.polling || (model.changes && model.outcome === "success")) return [];
  const end = steps.findLastIndex(
    ({ call }) => call.tool !== model.tool || (call.outcome !== "refused" && !sameResult(call, model)),
  );
  const streak = steps.slice(end + 1);
  return new Set(streak.map(({ key }) => key)).size >= sameResultStages.warn ? streak : [];
}

/**
 * How many calls bring no new value that stands in the request or in an earlier result. Those of the first reply alone
 * never come to a warning: they were made side by side, before any of them had a result, as when many files of one content
 * are read at once.
 */
function guessesIn(streak: Step[], { turn, steps }: History): number {
  if (streak.length === 0) return 0;
  const earlier = steps.slice(0, steps.length - streak.length).map(({ call }) => call.result);
  const given = [turn.userRequest, ...earlier].join("\n").toLowerCase();
  const used = new Set<string>();
  const guesses: number[] = [];
  for (const { call, round } of streak) {
    const fresh = wordsIn(Object.values(call.args)).filter((word) => !used.has(word));
    for (const word of fresh) used.add(word);
    if (!fresh.some((word) => given.includes(word))) guesses.push(round);
  }
  const later = guesses.filter((round) => round !== streak[0]?.round).length;
  return later + Math.min(guesses.length - later, sameResultStages.warn - 1);
}

/** The words of all texts among the values. Numbers are left out: some number stands in nearly every result. */
function wordsIn(values: unknown[]): string[] {
  return values
    .filter((value) => typeof value === "string")
    .flatMap((value) => value.toLowerCase().match(/[\p{L}\p{N}_-]{2,}/gu) ?? [])
    .filter((word) => /\p{L}/u.test(word));
}
