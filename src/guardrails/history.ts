import { beginsWith } from "@millrace/engine/message-list";
import { callKey, sameResult } from "./signature.ts";
import type { CallInTurn, PastCall, Round, Turn } from "./turn.ts";

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
  /** Those of the latest reply. */
  latest: Step[];
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

/** The observations of each call, by its key. */
type Observations = Map<string, { call: PastCall; observation: number }[]>;

/** What is known of the rounds before a turn's latest one, which do not change any more. */
interface ReadRounds {
  rounds: Round[];
  steps: Step[];
  seen: Observations;
}

/** By the first round, so that a long turn is not read again after each reply. */
const readBefore = new WeakMap<Round, ReadRounds>();

function read(turn: Turn): History {
  const [first] = turn.rounds;
  const latest = turn.rounds.at(-1);
  if (first === undefined || latest === undefined) return { turn, steps: [], latest: [], changesAhead: [] };
  const before = readBefore.get(first);
  const kept: ReadRounds =
    before !== undefined && before.rounds.length < turn.rounds.length && beginsWith(turn.rounds, before.rounds)
      ? before
      : { rounds: [], steps: [], seen: new Map() };
  for (const round of turn.rounds.slice(kept.rounds.length, -1)) {
    kept.steps.push(...stepsOf(round, kept.rounds.length, kept.steps.length, kept.seen));
    kept.rounds.push(round);
  }
  readBefore.set(first, kept);
  const seen: Observations = new Map(kept.seen);
  const steps = stepsOf(latest, kept.rounds.length, kept.steps.length, seen);
  const changesAhead = latest.calls.filter(
    (call) => call.outcome === "open" && call.changes && !seen.has(callKey(call)),
  );
  return { turn, steps: [...kept.steps, ...steps], latest: steps, changesAhead };
}

/** The steps of one round; `number` is that of the first. Notes what they observed in `seen`. */
function stepsOf({ calls }: Round, round: number, number: number, seen: Observations): Step[] {
  const steps: Step[] = [];
  for (const call of calls) {
    if (call.outcome === "open") continue;
    const key = callKey(call);
    const earlier = seen.get(key) ?? [];
    const isPoll = call.polling && call.outcome !== "refused";
    const same =
      call.outcome === "refused"
        ? earlier.at(-1)
        : isPoll
          ? undefined
          : earlier.find((past) => sameResult(past.call, call));
    const observation = same?.observation ?? number + steps.length;
    if (same === undefined) seen.set(key, [...earlier, { call, observation }]);
    steps.push({ call, round, key, observation, isNew: same === undefined });
  }
  return steps;
}

/**
 * The steps after the last change: a new successful change outside `isPart` (the loop's own calls), or a poll. At most
 * the last `maxSteps` steps.
 */
export function sinceChange({ steps }: History, maxSteps: number, isPart: (step: Step) => boolean): Step[] {
  const first = Math.max(0, steps.length - maxSteps);
  for (let at = steps.length - 1; at >= first; at -= 1) {
    const step = steps[at];
    if (step === undefined || !step.isNew || isPart(step)) continue;
    if (step.call.polling || (step.call.changes && step.call.outcome === "success")) return steps.slice(at + 1);
  }
  return steps.slice(first);
}
