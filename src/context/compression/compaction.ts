import {
  isAIMessage,
  isHumanMessage,
  isSystemMessage,
  isToolMessage,
  type BaseMessage,
} from "@langchain/core/messages";
import { z } from "zod";
import { CompressionLevel, type Compaction, type ConversationSummary } from "../../state.ts";
import { compactedHistory, levelRules } from "./compacted.ts";
import { fitSummary, plainSummary, summaryTokens, weigh, type WindowUsage } from "./compress.ts";
import { importanceOf } from "./importance.ts";
import { isResult, keptByUsers, withoutHidden, withPartners } from "./marked.ts";
import { textOf } from "@millrace/engine/message-kinds";
import { countMessages } from "../tokens/tokens.ts";
import { afterSummary } from "../view.ts";

/** Tolerated share of the window after compression; the aim is a fifth. */
export const toleratedRatio = 0.25;
/** Above this share the second attempt uses the level `extreme`. */
const farAbove = 0.3;
/** Maximum number of kept messages with agreed goals, newest first. */
const maxGoals = 10;
/** Hidden messages that get a line each in the summary, and characters of a line. */
const earlierLines = 10;
const lineLength = 80;
/** File changes listed per kept message. */
const operationsPerMessage = 3;

/** The plan of a compression and its effect. Tokens are estimates. */
export interface CompactionPlan {
  /** Messages to summarise, in addition to the previous summary. */
  removed: BaseMessage[];
  /** Messages that stay visible. */
  kept: BaseMessage[];
  through_message_id: string;
  shown: Compaction;
  /** Levels tried, 1 to 3. */
  attempts: number;
  tokensBefore: number;
  /** Computed with a summary by rule; the model's may differ a little. */
  tokensAfter: number;
}

/** Options of a compression. Without `keep` the level is chosen as needed. */
export interface CompactionOptions {
  /** The model's input limit in tokens. */
  limit: number;
  /** The user's choice: number of last messages, and ids of older ones. */
  keep?: number;
  keepIds?: readonly string[];
}

/**
 * Plans a compression with up to three attempts at increasing levels until the target is met. `null` if nothing would
 * change. Pure.
 */
export function planCompaction(
  history: BaseMessage[],
  summary: ConversationSummary | null,
  options: CompactionOptions,
): CompactionPlan | null {
  const before = visibleTokens(history, summary);
  if (options.keep !== undefined) return planAt("normal", history, summary, { ...options, before, attempts: 1 });
  let level: CompressionLevel = "normal";
  let best: CompactionPlan | null = null;
  for (let attempts = 1; attempts <= CompressionLevel.options.length; attempts += 1) {
    const plan = planAt(level, history, summary, { ...options, before, attempts });
    best = plan ?? best;
    const ratio = (plan?.tokensAfter ?? best?.tokensAfter ?? before) / options.limit;
    if (ratio <= toleratedRatio || level === "extreme") break;
    level = level === "normal" && ratio <= farAbove ? "secondary" : "extreme";
  }
  return best;
}

/** Tokens of the visible conversation, including the summary. */
export function visibleTokens(history: BaseMessage[], summary: ConversationSummary | null): number {
  return countMessages(compactedHistory(history, summary)) + summaryTokens(summary);
}

/** The visible conversation's use of the window. */
export function usage(history: BaseMessage[], summary: ConversationSummary | null, limit: number): WindowUsage {
  return weigh(visibleTokens(history, summary), limit);
}

function planAt(
  level: CompressionLevel,
  history: BaseMessage[],
  summary: ConversationSummary | null,
  { keep, keepIds = [], before, attempts }: CompactionOptions & { before: number; attempts: number },
): CompactionPlan | null {
  const begin = afterSummary(history, summary);
  const end = boundary(history, begin, keep ?? levelRules[level].keep);
  const through = history[end - 1]?.id;
  const last = history.at(-1)?.id;
  if (end <= begin || through === undefined || last === undefined) return null;
  const removed = withoutHidden(history.slice(begin, end), history);
  if (removed.length === 0) return null;
  // Pinned messages and agreed goals stay except at the level `extreme`.
  const agreed = agreedGoals(history, begin, end);
  const wanted = new Set(
    level === "extreme" ? [] : [...keepIds, ...(summary?.shown?.kept_message_ids ?? []), ...agreed],
  );
  const asWanted = withPartners(history, ({ id }) => id !== undefined && wanted.has(id));
  const marked = keptByUsers(history);
  const stays = (message: BaseMessage): boolean => asWanted.has(message) || marked.has(message);
  const hidden = withoutHidden(history.slice(0, end), history).filter((message) => !stays(message));
  const kept = withoutHidden(history.filter((message, index) => index >= end || stays(message)));
  const shown: Compaction = {
    level,
    kept_message_ids: [...asWanted].flatMap(({ id }) => (id === undefined ? [] : [id])),
    last_message_id: last,
    earlier: level === "extreme" ? [] : lastLines(hidden),
    operations: lastOperations(hidden).slice(-operationsPerMessage * kept.length),
  };
  const predicted = { ...fitSummary(plainSummary(removed, summary)), through_message_id: through, shown };
  const tokensAfter = visibleTokens(history, predicted);
  return { removed, kept, through_message_id: through, shown, attempts, tokensBefore: before, tokensAfter };
}

/** Ids of messages that agree on goals; calls and results can be read again instead. */
function agreedGoals(history: readonly BaseMessage[], begin: number, end: number): string[] {
  const ids: string[] = [];
  for (let at = end - 1; at >= begin && ids.length < maxGoals; at -= 1) {
    const message = history[at];
    if (message?.id === undefined || isToolMessage(message) || isSystemMessage(message)) continue;
    const hasCalls = isAIMessage(message) && (message.tool_calls ?? []).length > 0;
    if (!hasCalls && importanceOf(history, at) === "must_keep") ids.push(message.id);
  }
  return ids;
}

/** Start of the kept messages; results stay with their calls. */
function boundary(history: readonly BaseMessage[], begin: number, keep: number): number {
  let end = history.length - keep;
  while (end > begin && isResult(history[end])) end -= 1;
  return end;
}

/** The last of these messages, a line each. */
export function lastLines(messages: readonly BaseMessage[]): string[] {
  return messages.slice(-earlierLines).flatMap((message) => lineOf(message));
}

/** A message in one short line. */
function lineOf(message: BaseMessage): string[] {
  // System messages are shown in full elsewhere.
  if (isSystemMessage(message)) return [];
  const line = textOf(message.content).trim().split("\n", 1)[0] ?? "";
  const calls = isAIMessage(message) ? (message.tool_calls ?? []).map(({ name }) => name) : [];
  const words = line === "" && calls.length > 0 ? `calls ${calls.join(", ")}` : line;
  if (words === "") return [];
  const who = isHumanMessage(message) ? "user" : isToolMessage(message) ? (message.name ?? "tool") : "assistant";
  const text = `${who}: ${words}`;
  return [text.length > lineLength ? `${text.slice(0, lineLength - 1).replace(/\p{Cs}$/u, "")}…` : text];
}

/** Workspace changes recorded in a tool result. */
const Operations = z.array(z.object({ type: z.string(), path: z.string() })).catch([]);

/** The last change per path. */
function lastOperations(messages: readonly BaseMessage[]): string[] {
  const byPath = new Map<string, string>();
  for (const message of messages) {
    for (const { type, path } of Operations.parse(message.additional_kwargs["operations"] ?? [])) {
      byPath.delete(path);
      byPath.set(path, `${type} ${path.slice(0, 200)}`);
    }
  }
  return [...byPath.values()];
}
