/** Words by which a reply declares itself finished. */
const completionWords = /\b(?:done|finished|completed|all set)\b|已完成|完成|完毕|结束/iu;

/** Announcements of further work. */
export const promises =
  /\blet me (?!know\b)(?:\w+ )?\w+|\bi(?:'ll| will| shall|'m going to| am going to| am about to)(?! (?:be happy|be glad|need you|not|leave|wait)\b)|\b(?:now|next),? (?:i|let)\b|\bcontinuing\b|\bmoving on to\b|接下来|下一步我|我将|我会|我来|让我|现在我|继续(?:检查|移动|处理|整理|读取)|正在/iu;

/** Characters from which a reply is complete without a final mark. */
const longReply = 100;

/** Whether a reply is complete and why, or what is missing. */
export type Completeness =
  | { complete: true; by: "sentence_end" | "completion_word" | "length" }
  | { complete: false; why: "empty" | "torn" | "short" };

/** Characters that may follow a sentence's final mark: quotes, brackets, emphasis, emoji. */
const closers = /[\s"'”’»）)\]】」』*_`~\p{Extended_Pictographic}\u{FE0F}\u{200D}]+$/u;

/** Characters examined at the end. */
const endLength = 300;

/** Endings of unfinished sentences. */
const tornEnds =
  /(?:[,，、:：;；(（[{“「《—–-]|\b(?:and|or|but|the|a|an|to|of|with|because|then|so|that|which|including|my|your|our|their|from|into|if|when|while|was|were)|(?:以及|并且|因为|然后|所以|包括))$/iu;

/**
 * Judges the end of a reply: a sentence that stops midway is incomplete at any length; otherwise a final mark, a
 * completion word or enough characters make it complete.
 */
export function completenessOf(reply: string, enough: number = longReply): Completeness {
  const text = reply.trim();
  if (text === "") return { complete: false, why: "empty" };
  const fences = text.split("\n").filter((line) => line.trimStart().startsWith("```")).length;
  const isOpenBlock = fences % 2 === 1;
  // Only the end matters, and on long texts the pattern is quadratic in spaces.
  const bare = text.slice(-endLength).replace(closers, "");
  if (isOpenBlock || tornEnds.test(bare)) return { complete: false, why: "torn" };
  if (/[。.！!？?]$/u.test(bare)) return { complete: true, by: "sentence_end" };
  if (completionWords.test(text)) return { complete: true, by: "completion_word" };
  if (text.length >= enough) return { complete: true, by: "length" };
  return { complete: false, why: "short" };
}

/** Why a final reply looks cut; `undefined` where it does not: a word or a number may be all there is to say. */
export function looksCut(reply: string): "torn" | "announced" | undefined {
  const completeness = completenessOf(reply);
  if (completeness.complete) return undefined;
  if (completeness.why === "torn") return "torn";
  return breaksOff(reply) ? "announced" : undefined;
}

/** A conditional offer is not an announcement. */
const offers = /\b(?:if|when|whenever|once|unless)\b|如果|若|需要的话|的话/iu;

/** Whether a reply's last sentence announces work that it does not do. */
export function breaksOff(reply: string): boolean {
  const completeness = completenessOf(reply);
  if (completeness.complete || completeness.why === "empty") return false;
  const sentences = reply.trim().split(/(?<=[。！？!?]|\.(?=\s))\s*|\n+/u);
  const last = sentences.findLast((sentence) => sentence.trim() !== "") ?? "";
  return promises.test(last) && !offers.test(last);
}
