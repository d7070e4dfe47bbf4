import { flappingReason } from "../../prompts/loop-reasons.ts";
import { stageOf, type TurnRule } from "../finding.ts";
import type { History, Step } from "../history.ts";
import { flappingStages } from "../limits.ts";
import { stateAfter } from "../state-after.ts";

/** The same thing changes between the same states repeatedly: created and deleted, moved back and forth, toggled. */
export const stateFlapping: TurnRule = {
  turn(history) {
    const latest = history.latest.findLast(({ call }) => stateAfter(call) !== null);
    const subject = latest && stateAfter(latest.call)?.subject;
    if (subject === undefined) return null;
    const { times, blocked } = returnsOf(history, subject);
    const stage = stageOf(times + blocked, flappingStages);
    if (stage === null || times < flappingStages.warn) return null;
    return { rule: "state_flapping", stage, ...flappingReason({ what: subject, times }) };
  },
  call(history, call) {
    const after = stateAfter({ ...call, outcome: "success" });
    if (after === null) return null;
    const { times, states } = returnsOf(history, after.subject);
    if (times < flappingStages.block || !states.includes(after.state)) return null;
    return { rule: "state_flapping", stage: "block", ...flappingReason({ what: after.subject, times }) };
  },
};

/**
 * Number of the subject's repeated state changes since the turn last learned something from other calls: trying a
 * switch in both positions for one case after another is fine.
 */
function returnsOf({ steps }: History, subject: string): { times: number; blocked: number; states: string[] } {
  const isAbout = (step: Step): boolean => stateAfter(step.call)?.subject === subject;
  const learned = steps.findLastIndex((step) => step.isNew && !isAbout(step));
  const about = steps.slice(learned + 1).filter(isAbout);
  const states = about
    .filter(({ call }) => call.outcome === "success")
    .flatMap(({ call }) => stateAfter(call)?.state ?? []);
  const ways = new Set<string>();
  let times = 0;
  for (const [at, state] of states.entries()) {
    const before = states[at - 1];
    if (before === undefined || before === state) continue;
    const way = `${before}\n${state}`;
    if (ways.has(way)) times += 1;
    ways.add(way);
  }
  return { times, blocked: about.filter(({ call }) => call.outcome === "refused").length, states };
}
