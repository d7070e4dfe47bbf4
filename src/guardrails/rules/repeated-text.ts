import { repeatedTextReason } from "../../prompts/loop-reasons.ts";
import { stageOf, type TurnRule } from "../finding.ts";
import type { History } from "../history.ts";
import { comparedReplies, sameReplyStages, samePhrases } from "../limits.ts";

/**
 * Replies that are identical or share their key phrases. Saying "the next file" before each of twenty files is no loop:
 * replies count only while their calls bring nothing new. A forced reply that repeats the forced one before it ends the
 * turn at once.
 */
export const repeatedText: TurnRule = {
  turn(history) {
    const { rounds } = history.turn;
    const last = rounds.at(-1);
    if (last === undefined || last.text.trim() === "" || !isIdle(history, rounds.length - 1)) return null;
    const former = rounds.slice(0, -1).findLast(({ forced }) => forced);
    if (last.forced && former !== undefined && saysTheSame(last.text, former.text)) {
      return { rule: "repeated_text", stage: "finish", ...repeatedTextReason({ times: 2 }) };
    }
    const times = repetitionsOf(history, last.text);
    const stage = stageOf(times, sameReplyStages);
    return stage === null ? null : { rule: "repeated_text", stage, ...repeatedTextReason({ times }) };
  },
};

/** How many of the last replies say the same. Only the first may have brought something new. */
function repetitionsOf(history: History, text: string): number {
  const { rounds } = history.turn;
  let times = 0;
  for (let at = rounds.length - 1; at >= Math.max(0, rounds.length - comparedReplies); at -= 1) {
    const round = rounds[at];
    if (round === undefined || !saysTheSame(round.text, text)) break;
    times += 1;
    if (!isIdle(history, at)) break;
  }
  return times;
}

/** Whether a reply's calls brought nothing new. */
function isIdle({ steps }: History, round: number): boolean {
  return steps.every((step) => step.round !== round || !step.isNew);
}

function saysTheSame(one: string, other: string): boolean {
  const [first, second] = [plain(one), plain(other)];
  if (first === second) return true;
  const phrases = new Set(keyPhrases(first));
  const common = keyPhrases(second).filter((phrase) => phrases.has(phrase));
  const shared = common.reduce((sum, phrase) => sum + phrase.length, 0);
  return shared > 0 && shared >= samePhrases * Math.max(first.length, second.length);
}

function plain(text: string): string {
  return text.trim().toLowerCase().replaceAll(/\s+/gu, " ");
}

/** Sentence parts long enough to be significant: 12 characters, or 6 of Chinese. */
function keyPhrases(text: string): string[] {
  return text
    .split(/[.!?;:,…。！？；：，、\n]+/u)
    .map((phrase) => phrase.trim())
    .filter((phrase) => phrase.length >= (/\p{Script=Han}/u.test(phrase) ? 6 : 12));
}
