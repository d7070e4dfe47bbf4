import { isHumanMessage, isToolMessage, type BaseMessage } from "@langchain/core/messages";
import type { ConversationSummary } from "../../state.ts";
import { compactedHistory } from "./compacted.ts";
import { countMessages } from "../tokens/tokens.ts";

/** Messages that an early cut keeps at the end. */
const lastKept = 10;
/** Tokens from which a conversation about a document is shortened regardless of the window, and multiples of its longest answer. */
const [mostTokens, answerTimes] = [30_000, 10];
/** What is left of that, and of the window, once there is room for the answer. */
const withoutAnswer = 0.8;

/**
 * The history as it may be shown, compacted, from one of its last `most` requests on, and what of it is before that.
 * It begins at the same message for some turns, so that a provider can cache it. What a person wanted to be kept stays. `null`: there is no such limit.
 */
export function visibleHistory(
  history: BaseMessage[],
  summary: ConversationSummary | null,
  most: number | null,
): { visible: BaseMessage[]; earlier: BaseMessage[] } {
  const compacted = compactedHistory(history, summary);
  const wanted = new Set(summary?.shown?.kept_message_ids);
  const isWanted = ({ id }: BaseMessage): boolean => id !== undefined && wanted.has(id);
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
 * Tokens from which a request about a document is shortened, so that the provider does not refuse it. `answer` is the
 * model's longest answer, `window` the size of its window.
 */
export function earlyLimit(answer: number, window: number): number {
  return Math.min(answer * answerTimes, mostTokens, Math.floor(window * withoutAnswer));
}

/** The tokens that messages may take after an early cut, beside `fixed` others: the answer keeps its fifth. */
export function roomAfterCut(limit: number, fixed: number): number {
  return Math.max(0, Math.floor(limit * withoutAnswer) - fixed);
}

/**
 * The last ten messages and the request; of the rounds before, while there is room, the newest in which tools gave
 * results or the user has attached something. Calls keep their results. Nothing is changed (law 5).
 */
export function cutEarly(history: readonly BaseMessage[], room: number): { shown: BaseMessage[]; left: BaseMessage[] } {
  let first = Math.max(0, history.length - lastKept);
  while (first > 0 && isResult(history[first])) first -= 1;
  const request = history.findLastIndex((message) => isHumanMessage(message));
  const kept = new Set(history.filter((_, index) => index >= first || index === request));
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

/** Each request with what follows it. */
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

function isResult(message: BaseMessage | undefined): boolean {
  return message !== undefined && isToolMessage(message);
}
