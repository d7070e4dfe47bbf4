import { isHumanMessage, isToolMessage, type BaseMessage } from "@langchain/core/messages";
import type { ConversationSummary } from "../../state.ts";
import { compactedHistory } from "./compacted.ts";
import { isResult, keptByUsers } from "./marked.ts";
import { countMessages } from "../tokens/tokens.ts";

/** Last messages kept by an early cut. */
const lastKept = 10;
/** Limits of a conversation about a document: tokens, and multiples of the model's longest answer. */
const [maxTokens, answerTimes] = [30_000, 10];
/** Share left after reserving room for the answer. */
const withoutAnswer = 0.8;

/**
 * The compacted history from one of its last `most` user messages on, and what precedes it. The start stays the same
 * for some turns, so that the prefix cache holds. Pinned messages stay. `most` is `null` for no limit.
 */
export function visibleHistory(
  history: BaseMessage[],
  summary: ConversationSummary | null,
  most: number | null,
): { visible: BaseMessage[]; earlier: BaseMessage[] } {
  const compacted = compactedHistory(history, summary);
  const wanted = new Set(summary?.shown?.kept_message_ids);
  const marked = keptByUsers(compacted);
  const isWanted = (message: BaseMessage): boolean =>
    marked.has(message) || (message.id !== undefined && wanted.has(message.id));
  const requests = compacted.flatMap((message, index) =>
    isHumanMessage(message) && !isWanted(message) ? [index] : [],
  );
  if (most === null || requests.length <= most) return { visible: compacted, earlier: [] };
  const step = Math.ceil(most / 2);
  const first = requests[Math.ceil((requests.length - most) / step) * step] ?? 0;
  const isShown = (message: BaseMessage, index: number): boolean => index >= first || isWanted(message);
  return {
    visible: compacted.filter(isShown),
    earlier: compacted.filter((message, index) => !isShown(message, index)),
  };
}

/**
 * Token limit of a request about a document, so that the provider does not refuse it. `answer` is the model's longest
 * answer, `window` its window.
 */
export function earlyLimit(answer: number, window: number): number {
  return Math.min(answer * answerTimes, maxTokens, Math.floor(window * withoutAnswer));
}

/** Tokens for messages after an early cut, beside `fixed` others; a fifth is left for the answer. */
export function roomAfterCut(limit: number, fixed: number): number {
  return Math.max(0, Math.floor(limit * withoutAnswer) - fixed);
}

/**
 * The last ten messages, the request and what users keep, plus earlier rounds with tool results or attachments, newest first, while
 * there is room. Calls keep their results. Pure (law 5).
 */
export function cutEarly(history: readonly BaseMessage[], room: number): { shown: BaseMessage[]; left: BaseMessage[] } {
  let first = Math.max(0, history.length - lastKept);
  while (first > 0 && isResult(history[first])) first -= 1;
  const request = history.findLastIndex((message) => isHumanMessage(message));
  const last = history.filter((_, index) => index >= first || index === request);
  const kept = new Set([...last, ...keptByUsers(history)]);
  let tokens = countMessages([...kept]);
  for (const round of roundsOf(history.slice(0, first)).toReversed()) {
    const more = countMessages(round);
    if (tokens + more > room || !round.some((message) => isTelling(message))) continue;
    tokens += more;
    for (const message of round) kept.add(message);
  }
  const isKept = (message: BaseMessage): boolean => kept.has(message);
  return { shown: history.filter(isKept), left: history.filter((message) => !isKept(message)) };
}

/** Groups messages by user message. */
function roundsOf(messages: readonly BaseMessage[]): BaseMessage[][] {
  const rounds: BaseMessage[][] = [];
  for (const message of messages) {
    if (isHumanMessage(message) || rounds.length === 0) rounds.push([]);
    rounds.at(-1)?.push(message);
  }
  return rounds;
}

function isTelling(message: BaseMessage): boolean {
  if (isToolMessage(message)) return true;
  const attached = message.additional_kwargs["attachments"];
  const hasMore = Array.isArray(message.content) && message.content.some(({ type }) => type !== "text");
  return isHumanMessage(message) && (hasMore || (Array.isArray(attached) && attached.length > 0));
}
