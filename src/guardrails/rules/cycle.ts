import { cycleReason } from "../../prompts/loop-reasons.ts";
import type { TurnRule } from "../finding.ts";
import type { History, Step } from "../history.ts";
import { cycleStages, maxCycleLength, shuffledCalls } from "../limits.ts";
import { callKey } from "../signature.ts";

/** Two to six calls that repeat with the same results: A-B-A-B, A-B-C-A-B-C, or in changing order. */
export const cycle: TurnRule = {
  turn(history) {
    if (history.latest.length === 0) return null;
    const found = findCycle(history);
    if (found === null) return null;
    const stage = found.blocked >= 2 && found.times >= cycleStages.block ? "finish" : "warn";
    return { rule: "cycle", stage, ...reasonOf(found) };
  },
  call(history, call) {
    const found = findCycle(history);
    if (found === null || found.times < cycleStages.block || history.changesAhead.length > 0) return null;
    const key = callKey(call);
    return found.row.some((step) => step.key === key) ? { rule: "cycle", stage: "block", ...reasonOf(found) } : null;
  },
};

interface Cycle {
  row: Step[];
  /** Complete repetitions of the sequence. */
  times: number;
  /** Its blocked calls. */
  blocked: number;
}

function reasonOf({ row, times }: Cycle): ReturnType<typeof cycleReason> {
  return cycleReason({ tools: row.map(({ call }) => call.tool), times });
}

function findCycle({ steps }: History): Cycle | null {
  for (let length = 2; length <= maxCycleLength; length += 1) {
    const found = cycleOf(steps, length);
    if (found !== null) return found;
  }
  return shuffledCycle(steps);
}

/** The sequence of this length at the end, if it repeated often enough and is more than one call. */
function cycleOf(steps: Step[], length: number): Cycle | null {
  let matching = length;
  while (
    matching < steps.length &&
    steps.at(-1 - matching)?.observation === steps.at(-1 - matching + length)?.observation
  ) {
    matching += 1;
  }
  const times = Math.floor(matching / length);
  if (times < cycleStages.warn) return null;
  const row = steps.slice(-length);
  if (new Set(row.map(({ observation }) => observation)).size < 2) return null;
  return { row, times, blocked: refusedIn(steps.slice(-matching)) };
}

/** The last dozen calls, if they have only a third as many distinct ones, each at least twice. */
function shuffledCycle(steps: Step[]): Cycle | null {
  const latest = steps.slice(-shuffledCalls);
  if (latest.length < shuffledCalls) return null;
  const row = new Map(latest.map((step) => [step.observation, step]));
  const different = row.size;
  if (different < 2 || different > shuffledCalls / cycleStages.block) return null;
  const isEachRepeated = [...row.keys()].every(
    (observation) => latest.filter((step) => step.observation === observation).length > 1,
  );
  return isEachRepeated ? { row: [...row.values()], times: cycleStages.block, blocked: refusedIn(latest) } : null;
}

function refusedIn(steps: Step[]): number {
  return steps.filter(({ call }) => call.outcome === "refused").length;
}
