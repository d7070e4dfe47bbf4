import { stagnationReason } from "../../prompts/loop-reasons.ts";
import { smallerIsBetter } from "../smaller-is-better.ts";
import type { TurnRule } from "../finding.ts";
import { markedChange, stagnationFinish } from "../limits.ts";

type Metrics = Record<string, number>;

/**
 * No key metric of a tool improved over its last 3 sets: a note with the values. A search may stagnate for a while, so
 * the turn ends only after four times as many sets without a better value.
 */
export const stagnation: TurnRule = {
  turn(history, limits) {
    const latest = history.latest.findLast(({ call }) => call.metrics !== null && !call.polling)?.call;
    if (latest?.metrics === undefined || latest.metrics === null) return null;
    const sets = history.steps.flatMap(({ call }) =>
      call.tool === latest.tool && call.metrics !== null && Object.keys(call.metrics).length > 0 ? [call.metrics] : [],
    );
    const threshold = Math.max(2, limits.stagnation_threshold);
    const long = threshold * stagnationFinish;
    if (sets.length >= long && !hasRecord(sets, long - 1)) {
      return { rule: "stagnation", stage: "finish", ...stagnationReason({ sets: long, current: latest.metrics }) };
    }
    const recent = sets.slice(-threshold);
    if (recent.length < threshold || isBetter(recent[0] ?? {}, latest.metrics)) return null;
    return { rule: "stagnation", stage: "warn", ...stagnationReason({ sets: threshold, current: latest.metrics }) };
  },
};

/** Whether one of the last sets has a new best metric. */
function hasRecord(sets: Metrics[], last: number): boolean {
  const before = sets.slice(0, -last);
  return sets
    .slice(-last)
    .some((set) => Object.keys(set).some((name) => before.every((former) => isBetterIn(name, former, set))));
}

/** Whether any metric is markedly better in `last` than in `first`. */
function isBetter(first: Metrics, last: Metrics): boolean {
  return Object.keys(first).some((name) => isBetterIn(name, first, last));
}

function isBetterIn(name: string, first: Metrics, last: Metrics): boolean {
  const before = first[name];
  const after = last[name];
  if (before === undefined || after === undefined || !Number.isFinite(before) || !Number.isFinite(after)) return false;
  const gain = smallerIsBetter(name) ? before - after : after - before;
  return gain > Math.abs(before) * markedChange;
}
