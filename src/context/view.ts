import { isHumanMessage, type BaseMessage } from "@langchain/core/messages";
import type { ConversationSummary } from "../state.ts";
import { countMessage } from "./tokens/tokens.ts";

/** Above this share of the window the oldest messages are left out of the view, down to `target`. */
export const overflowAt = 0.9;
const target = 0.8;

/** The part of the history that the model sees. */
export interface Window {
  /** Index of the first message shown. */
  first: number;
  /** Estimated tokens of what is shown, without the fixed part. */
  tokens: number;
}

/**
 * Where the view of the history begins (law 5: the history itself is never cut). It begins after what the summary speaks
 * about; if it is still too long, at a later user message, so that calls and results stay together and the last user
 * message is always there. `fixedTokens` is what the view holds besides: system text, tools, this turn; `eachTokens` is
 * what each message takes beside its own; `most` is what the history may take in all, where that is less.
 */
export function chooseWindow(
  history: readonly BaseMessage[],
  options: {
    summary: ConversationSummary | null;
    fixedTokens: number;
    eachTokens?: number;
    limit: number;
    most?: number;
  },
): Window {
  const { eachTokens = 0, fixedTokens, limit, most = Infinity } = options;
  const begin = afterSummary(history, options.summary);
  let tokens = 0;
  for (let index = begin; index < history.length; index += 1) tokens += tokensAt(history, index, eachTokens);
  const hasRoom = fixedTokens + tokens <= limit * overflowAt;
  if (hasRoom && tokens <= most) return { first: begin, tokens };
  const aim = hasRoom ? most : Math.min(most, limit * target - fixedTokens);

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
