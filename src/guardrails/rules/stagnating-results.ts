import { sameResultsReason } from "../../prompts/loop-reasons.ts";
import { stageOf, type TurnRule } from "../finding.ts";
import type { History, Step } from "../history.ts";
import { sameResultStages } from "../limits.ts";
import { sameResult } from "../signature.ts";

/**
 * Different calls of one tool with the same result. Working through a given list is fine even without findings, so only
 * guesses count: calls with no value from the request or an earlier result. Changes that report the same success are
 * fine too.
 */
export const stagnatingResults: TurnRule = {
  turn(history) {
    const last = history.latest.at(-1);
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

/** The last consecutive steps of one tool with one result, mostly different; refused ones count too. */
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
 * Number of calls without a new value from the request or an earlier result. Calls of the first reply alone never reach
 * a warning: they were made in parallel, before any result.
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

/** The words of all text values. Numbers are ignored: nearly every result contains some. */
function wordsIn(values: unknown[]): string[] {
  return values
    .filter((value) => typeof value === "string")
    .flatMap((value) => value.toLowerCase().match(/[\p{L}\p{N}_-]{2,}/gu) ?? [])
    .filter((word) => /\p{L}/u.test(word));
}
