import { callKey, sameResult } from "./signature.ts";
import type { CallInTurn, PastCall, Turn } from "./turn.ts";

/** A call with its result, and whether the turn learned something from it. */
export interface Step {
  call: PastCall;
  /** Index of the requesting reply. */
  round: number;
  key: string;
  /** Equal calls with equal results have the same number; a refused call keeps its previous one. */
  observation: number;
  /** Not seen before in this turn. Polls always count as new; a rule of their own limits them. */
  isNew: boolean;
}

/** A turn as the rules see it. */
export interface History {
  turn: Turn;
  /** In the order of the calls. */
  steps: Step[];
  /** Calls of the latest reply that may change something, are new and have no result. */
  changesAhead: CallInTurn[];
}

const known = new WeakMap<Turn, History>();

/** Lists a turn's calls and numbers their observations; cached per turn. */
export function historyOf(turn: Turn): History {
  const history = known.get(turn) ?? read(turn);
  known.set(turn, history);
  return history;
}

function read(turn: Turn): History {
  const seen = new Map<string, { call: PastCall; observation: number }[]>();
  const steps: Step[] = [];
  for (const [round, { calls }] of turn.rounds.entries()) {
    for (const call of calls) {
      if (call.outcome === "open") continue;
      const key = callKey(call);
      const earlier = seen.get(key) ?? [];
      const isPoll = call.polling && call.outcome !== "refused";
      const known =
        call.outcome === "refused"
          ? earlier.at(-1)
          : isPoll
            ? undefined
            : earlier.find((past) => sameResult(past.call, call));
      const observation = known?.observation ?? steps.length;
      if (known === undefined) seen.set(key, [...earlier, { call, observation }]);
      steps.push({ call, round, key, observation, isNew: known === undefined });
    }
  }
  const latest = turn.rounds.at(-1)?.calls ?? [];
  const changesAhead = latest.filter((call) => call.outcome === "open" && call.changes && !seen.has(callKey(call)));
  return { turn, steps, changesAhead };
}

/** The steps of the latest reply. */
export function latestSteps({ turn, steps }: History): Step[] {
  return steps.filter(({ round }) => round === turn.rounds.length - 1);
}

/**
 * The steps after the last change: a new successful change outside `isPart` (the loop's own calls), or a poll. At most
 * the last `most` steps.
 */
export function sinceChange({ steps }: History, most: number, isPart: (step: Step) => boolean): Step[] {
  const first = Math.max(0, steps.length - most);
  for (let at = steps.length - 1; at >= first; at -= 1) {
    const step = steps[at];
    if (step === undefined || !step.isNew || isPart(step)) continue;
    if (step.call.polling || (step.call.changes && step.call.outcome === "success")) return steps.slice(at + 1);
  }
  return steps.slice(first);
}
