/** Limits of the loop rules that a run may choose, both in `LoopLimits`. */
export interface GuardLimits {
  /** Failures of the same call before it is blocked: `LOOP_SAME_FAILURE_LIMIT`, 2. */
  same_failure_limit: number;
  /** Number of metric sets within which something must improve: `LOOP_STAGNATION_THRESHOLD`, 3. */
  stagnation_threshold: number;
}

/** Thresholds of a rule: first a note, then a block, then the end of the turn. */
export interface Stages {
  warn: number;
  block: number;
  finish: number;
}

/** Blocked attempts after which a rule stops asking the model. Chosen here; docs/assistant/guardrails.md says why. */
const blockedAttempts = 2;

function stages(warn: number, block: number): Stages {
  return { warn, block, finish: block + blockedAttempts };
}

/** Failures of the same call. The first note comes when the next attempt would be blocked. */
export function sameFailureStages({ same_failure_limit }: GuardLimits): Stages {
  return stages(same_failure_limit, same_failure_limit);
}

/** Failures forgiven, in multiples of the limit, if new changes elsewhere came between them. */
export const forgivenFailures = 3;
/** The same call with the same result: a note at 3, the fifth is blocked, as in other agents. */
export const repeatedCallStages = stages(3, 4);
/** The same result of a polling tool. */
export const pollingStages = stages(15, 20);
/** Calls that differ only in spelling, with the same result. */
export const similarCallStages = stages(3, 5);
/** Repetitions of a sequence of two to six calls: A-B-A-B gets a note, A-B-C three times is blocked. */
export const cycleStages = { warn: 2, block: 3 };
/** Maximum calls of a repeated sequence that is detected. */
export const maxCycleLength = 6;
/** This many consecutive calls with only a third as many distinct ones are a shuffled cycle. */
export const shuffledCalls = 12;
/**
 * Different calls with the same result: threshold for a note, and guesses (values from neither request nor results)
 * until the block.
 */
export const sameResultStages = stages(5, 8);
/** Repeated changes between two states. */
export const flappingStages = stages(2, 3);
/** Calls that count as short succession. */
export const shortSuccession = 20;
/** Number of replies compared. */
export const comparedReplies = 6;
/** Equal replies before a note, and before the turn ends. */
export const sameReplyStages = { warn: 3, finish: 5 };
/** Share of a reply that must consist of the same key phrases to count as equal. */
export const samePhrases = 0.6;
/** Smaller relative changes of a metric do not count. */
export const markedChange = 0.001;
/** The turn ends after this many stagnation thresholds without a new best value. */
export const stagnationFinish = 4;
/** Consecutive replies that only call unknown tools: the first is a slip and gets the list of tools. */
export const inventedRounds = { warn: 2, finish: 4 };
/** Consecutive replies with only blocked calls, after which the turn ends. */
export const blockedRounds = 3;
