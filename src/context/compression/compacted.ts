import { isAIMessage, isHumanMessage, type BaseMessage } from "@langchain/core/messages";
import type { CompressionLevel, ConversationSummary } from "../../state.ts";
import { cutMessage, type CutOptions } from "./cut-message.ts";
import { isKept, isResult, keptByUsers, withoutHidden } from "./marked.ts";
import { afterSummary } from "../view.ts";

/** The rules of a level. */
interface LevelRule {
  /** Minimum number of messages kept; results are kept with their calls. */
  keep: number;
  /** Number of last messages shown in full. */
  whole: number;
  /** Characters of the others; the user's last message is always in full. */
  maxLength: number;
  /** Messages at the end that keep their reasoning. */
  reasoning: number;
}

/** Lines per code block in older messages. */
const codeLines = 20;

/** The levels in their order. */
export const levelRules: Readonly<Record<CompressionLevel, LevelRule>> = {
  normal: { keep: 3, whole: 3, maxLength: 500, reasoning: 1 },
  secondary: { keep: 2, whole: 0, maxLength: 200, reasoning: 0 },
  extreme: { keep: 1, whole: 0, maxLength: 100, reasoning: 0 },
};

/**
 * The history for the model: without messages covered by the summary, except kept ones and the user's last message,
 * and without those that users hide; older kept messages are cut. Later messages are unchanged, and so are the
 * originals (law 5).
 */
export function compactedHistory(history: BaseMessage[], summary: ConversationSummary | null): BaseMessage[] {
  return withoutHidden(summarisedHistory(history, summary), history);
}

function summarisedHistory(history: BaseMessage[], summary: ConversationSummary | null): BaseMessage[] {
  const begin = afterSummary(history, summary);
  const shown = summary?.shown;
  if (begin === 0) return history;
  const marked = keptByUsers(history.slice(0, begin));
  if (shown === undefined) return [...marked, ...history.slice(begin)];
  const kept = new Set(shown.kept_message_ids);
  const end = Math.max(begin, history.findLastIndex(({ id }) => id === shown.last_message_id) + 1);
  const request = history.findLastIndex((message) => isHumanMessage(message));
  // Usually nothing before is kept, and the scan can be skipped.
  const stays = (message: BaseMessage, index: number): boolean =>
    index < begin && (index === request || marked.has(message) || (message.id !== undefined && kept.has(message.id)));
  const before = kept.size + marked.size > 0 || request < begin ? history.filter(stays) : [];
  return [...cutOlder([...before, ...history.slice(begin, end)], shown.level, kept), ...history.slice(end)];
}

/** Cuts kept messages. Those chosen for a compression stay in full at the level `normal`, those marked at any. */
export function cutOlder(older: BaseMessage[], level: CompressionLevel, wanted: ReadonlySet<string>): BaseMessage[] {
  const { whole, maxLength, reasoning } = levelRules[level];
  const request = older.findLastIndex((message) => isHumanMessage(message));
  const withReasoning = older.filter((message) => isAIMessage(message)).slice(reasoning === 0 ? Infinity : -reasoning);
  const firstWhole = wholeFrom(older, whole);
  return older.map((message, index) => {
    const isWanted = level === "normal" && message.id !== undefined && wanted.has(message.id);
    const isWhole = index === request || index >= firstWhole || isWanted || isKept(message);
    const options: CutOptions = {
      ...(isWhole ? { maxLength: Infinity } : { maxLength, codeLines }),
      dropsReasoning: !withReasoning.some((other) => other === message),
    };
    return cutMessage(message, options);
  });
}

/** Start of the last `count` messages; calls and results stay together. */
function wholeFrom(messages: readonly BaseMessage[], count: number): number {
  if (count === 0) return messages.length;
  let first = Math.max(0, messages.length - count);
  while (first > 0 && first < messages.length && isResult(messages[first])) first -= 1;
  return first;
}
