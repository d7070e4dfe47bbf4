import type { BaseMessage } from "@langchain/core/messages";
import type { Finding } from "../../../src/guardrails/finding.ts";
import type { GuardLimits } from "../../../src/guardrails/limits.ts";
import { reviewCall, reviewTurn } from "../../../src/guardrails/review-turn.ts";
import { callInTurn, readTurn } from "../../../src/guardrails/turn.ts";
import { messagesOf, recordedTools, type RecordedLoop, type RecordedRound, type Recording } from "./recording.ts";

/** What the rules did to a recording. Calls are counted; replies, where a recording has no calls. */
export interface Played {
  /** The first block or end, and the calls that had run by then. */
  stopped: { finding: Finding; after: number } | null;
  /** Set when the turn was ended; the calls asked for by then, blocked ones too. */
  finishedAfter: number | null;
  warnings: Finding[];
  calls: number;
}

const limits: GuardLimits = { same_failure_limit: 2, stagnation_threshold: 3 };
/** The number of replies after which a model that no rule stops is stopped here. */
const patience = 60;
/** Calls from the first block to the end of the turn, three replies of three at most. */
const soonAfter = 9;

/**
 * Plays a recording as the loop would: the rules are asked before each reply and each call, a blocked call gets GUARD-03's
 * result, and the model goes on unmoved by all of it.
 */
export function play(recording: Recording): Played {
  const messages: BaseMessage[] = [];
  const about = { userRequest: recording.request, tools: recordedTools };
  const played: Played = { stopped: null, finishedAfter: null, warnings: [], calls: 0 };
  for (const [index, round] of roundsOf(recording).entries()) {
    const findings = reviewTurn(readTurn(messages, about), limits);
    const finish = findings.find(({ stage }) => stage === "finish");
    if (finish !== undefined) {
      const after = played.calls === 0 ? index : played.calls;
      played.stopped ??= { finding: finish, after };
      played.finishedAfter = after;
      return played;
    }
    played.warnings.push(...findings);
    answer(round, index, messages, played, about);
  }
  return played;
}

function answer(
  round: RecordedRound,
  index: number,
  messages: BaseMessage[],
  played: Played,
  about: Parameters<typeof readTurn>[1],
): void {
  const asked = [...messages, ...messagesOf(round, index, [])];
  const turn = readTurn(asked, about);
  const ranBefore = played.calls;
  const results = (round.calls ?? []).map(({ tool, args, result, failed, metrics }) => {
    const block = reviewCall(turn, callInTurn(tool, args, recordedTools), limits);
    played.calls += 1;
    if (block === null) {
      const notes = failed === undefined ? { code: "OK" } : { code: "FAILED", errorType: failed };
      return { content: result, ...notes, ...(metrics === undefined ? {} : { metrics }) };
    }
    played.stopped ??= { finding: block, after: ranBefore };
    const { reason, suggestions } = block;
    return { content: JSON.stringify({ blocked: true, reason, suggestions }), code: "BLOCKED", errorType: "blocked" };
  });
  messages.push(...messagesOf(round, index, results));
}

function roundsOf({ opening = [], repeats = [] }: Recording): RecordedRound[] {
  const rounds = [...opening];
  while (repeats.length > 0 && rounds.length < patience) rounds.push(...repeats);
  return rounds;
}

/** Whether a loop was stopped in time, first by its rule unless any will do, and the turn ended soon after. */
export function isCaught(loop: RecordedLoop, played: Played, by: "its rule" | "any rule" = "its rule"): boolean {
  const { stopped, finishedAfter } = played;
  if (stopped === null || finishedAfter === null || stopped.after > loop.within) return false;
  return (by === "any rule" || stopped.finding.rule === loop.rule) && finishedAfter <= stopped.after + soonAfter;
}
