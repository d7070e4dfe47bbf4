/** What a run may choose of the rules against loops; both stand in `LoopLimits`. */
export interface GuardLimits {
  /** Failures of the same call before it is blocked: `LOOP_SAME_FAILURE_LIMIT`, 2. */
  same_failure_limit: number;
  /** Sets of metrics over which something must get better: `LOOP_STAGNATION_THRESHOLD`, 3. */
  stagnation_threshold: number;
}

/** A rule says a word, then blocks, then ends the turn: how much it must have seen for each. */
export interface Stages {
  warn: number;
  block: number;
  finish: number;
}

/** Blocked attempts after which a rule stops asking the model. Chosen here; docs/guardrails.md says why. */
const blockedAttempts = 2;

function stages(warn: number, block: number): Stages {
  return { warn, block, finish: block + blockedAttempts };
}

/** Failures of the same call. The first note comes when the next attempt would be blocked. */
export function sameFailureStages({ same_failure_limit }: GuardLimits): Stages {
  return stages(same_failure_limit, same_failure_limit);
}

/** So many times the limit of failures is forgiven when new changes elsewhere stood between them. */
export const forgivenFailures = 3;
/** The same call with the same result: soft at 3, the fifth is blocked, as other agents do it. */
export const repeatedCallStages = stages(3, 4);
/** The same result of a tool that is made for being asked again. */
export const pollingStages = stages(15, 20);
/** Calls that differ only in spelling, with the same result. */
export const similarCallStages = stages(3, 5);
/** Times that a row of two to six calls has been gone through: A-B-A-B is told, A-B-C three times is blocked. */
export const cycleStages = { warn: 2, block: 3 };
/** The longest row of calls that is looked for. */
export const longestCycle = 6;
/** So many calls running that hold only a third as many different ones are a cycle in another order each time. */
export const shuffledCalls = 12;
/** Different calls with the same result: what is told, and guesses (values that nobody named) until the block. */
export const sameResultStages = stages(5, 8);
/** Ways between two states that have been gone before. */
export const flappingStages = stages(2, 3);
/** Calls that count as short succession. */
export const shortSuccession = 20;
/** Replies that are compared. */
export const comparedReplies = 6;
/** How many replies that say the same are told and end the turn. */
export const sameReplyStages = { warn: 3, finish: 5 };
/** The part of a reply that must consist of the same key phrases for it to say the same. */
export const samePhrases = 0.6;
/** A metric that moves by less, as a part of its value, has not moved. */
export const markedChange = 0.001;
/** So many times the stagnation threshold without a new best value end the turn. */
export const stagnationFinish = 4;
/** Replies running that ask only for tools that are not there: the first is a slip, and the list of tools comes with it. */
export const inventedRounds = { warn: 2, finish: 4 };
/** Replies running of which every call was blocked, after which the model is not asked again. */
export const blockedRounds = 3;
