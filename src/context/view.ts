import { isHumanMessage, type BaseMessage } from "@langchain/core/messages";
import type { ConversationSummary } from "../state.ts";
import { countMessage } from "./tokens/tokens.ts";

/** Above this share of the window the oldest messages are hidden, down to `target`. */
export const overflowAt = 0.9;
const target = 0.8;

/** The visible part of the history. */
export interface Window {
  /** Index of the first message shown. */
  first: number;
  /** Estimated tokens of the visible part. */
  tokens: number;
}

/**
 * Chooses where the visible history begins (the history itself is never cut, law 5): after the summarised part or, if
 * still too long, at a later user message, so that calls keep their results and the user's last message is always
 * visible. `fixedTokens`: everything else in the view; `eachTokens`: extra per message.
 */
export function chooseWindow(
  history: readonly BaseMessage[],
  options: {
    summary: ConversationSummary | null;
    fixedTokens: number;
    eachTokens?: number;
    limit: number;
    maxHistoryTokens?: number;
  },
): Window {
  const { eachTokens = 0, fixedTokens, limit, maxHistoryTokens = Infinity } = options;
  const begin = afterSummary(history, options.summary);
  let tokens = 0;
  for (let index = begin; index < history.length; index += 1) tokens += tokensAt(history, index, eachTokens);
  const hasRoom = fixedTokens + tokens <= limit * overflowAt;
  if (hasRoom && tokens <= maxHistoryTokens) return { first: begin, tokens };
  const aim = hasRoom ? maxHistoryTokens : Math.min(maxHistoryTokens, limit * target - fixedTokens);

  let first = begin;
  for (let index = begin + 1; index < history.length; index += 1) {
    tokens -= tokensAt(history, index - 1, eachTokens);
    const message = history[index];
    if (message === undefined || !isHumanMessage(message)) continue;
    first = index;
    if (tokens <= aim) break;
  }
  let shown = 0;
  for (let index = first; index < history.length; index += 1) shown += tokensAt(history, index, eachTokens);
  return { first, tokens: shown };
}

/** Index of the first message the summary does not cover; 0 without one. */
export function afterSummary(history: readonly BaseMessage[], summary: ConversationSummary | null): number {
  if (summary === null) return 0;
  return history.findLastIndex((message) => message.id === summary.through_message_id) + 1;
}

function tokensAt(history: readonly BaseMessage[], index: number, eachTokens: number): number {
  const message = history[index];
  return message === undefined ? 0 : countMessage(message) + eachTokens;
}
