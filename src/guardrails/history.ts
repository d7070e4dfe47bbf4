import { callKey, sameResult } from "./signature.ts";
import type { CallInTurn, PastCall, Turn } from "./turn.ts";

/** A call that has its result, and whether the turn learned something by it. */
export interface Step {
  call: PastCall;
  /** Index of the reply that asked for it. */
  round: number;
  key: string;
  /** The same number for the same call with the same result; a refused call brings what it brought before. */
  observation: number;
  /** Never seen before in this turn. A poll counts as new: when it has gone on for too long is a rule of its own. */
  isNew: boolean;
}

/** A turn as the rules read it. */
export interface History {
  turn: Turn;
  /** In the order in which the model asked. */
  steps: Step[];
  /** Calls of the latest reply that may change something, are new and have no result yet. */
  changesAhead: CallInTurn[];
}

const known = new WeakMap<Turn, History>();

/** Puts the calls of a turn in a row and numbers what they brought: once, though several calls of a reply are judged by it. */
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

/** The steps of the latest reply; none when it asked for nothing. */
export function latestSteps({ turn, steps }: History): Step[] {
  return steps.filter(({ round }) => round === turn.rounds.length - 1);
}

/**
 * The steps after the last one that may have changed what a call finds: a new, successful change, or a poll, whose purpose
 * is to see one. What `isPart` names belongs to the loop itself and is no such change. At most the last `most` steps.
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
