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
import { textOf } from "@millrace/engine/message-kinds";
import { countMessages } from "../tokens/tokens.ts";
import { afterSummary } from "../view.ts";

/** A conversation should take a fifth of the window after compression; up to a quarter is tolerated. */
export const toleratedRatio = 0.25;
/** Above this share the second attempt is the hardest at once. */
const farAbove = 0.3;
/** Messages in which goals were agreed on that are kept beside the last ones, the newest of them. */
const mostGoals = 10;
/** Messages before the kept ones that get a line each in the summary, and characters of such a line. */
const earlierLines = 10;
const lineLength = 80;
/** Changes of files that are listed for each kept message. */
const operationsPerMessage = 3;

/** What a compression is to do, and what will be left then. Tokens are estimates of the conversation. */
export interface CompactionPlan {
  /** What the summary has to speak about, beside what the one before it says. */
  removed: BaseMessage[];
  /** What of the history stays in view. */
  kept: BaseMessage[];
  through_message_id: string;
  shown: Compaction;
  /** Levels tried, 1 to 3. */
  attempts: number;
  tokensBefore: number;
  /** With a summary made by rule; the model's may differ a little. */
  tokensAfter: number;
}

/** What a compression is asked for. Without `keep` the level is chosen by what is needed. */
export interface CompactionWish {
  /** Tokens that the model may read. */
  limit: number;
  /** Messages that a person wants to be kept at the end, and older ones by id. */
  keep?: number;
  keepIds?: readonly string[];
}

/**
 * Plans a compression: at most three attempts, each at a harder level, until the target is met. `null` when nothing
 * would change. Nothing is changed here, and the same history gives the same plan.
 */
export function planCompaction(
  history: BaseMessage[],
  summary: ConversationSummary | null,
  wish: CompactionWish,
): CompactionPlan | null {
  const before = visibleTokens(history, summary);
  if (wish.keep !== undefined) return planAt("normal", history, summary, { ...wish, before, attempts: 1 });
  let level: CompressionLevel = "normal";
  let best: CompactionPlan | null = null;
  for (let attempts = 1; attempts <= CompressionLevel.options.length; attempts += 1) {
    const plan = planAt(level, history, summary, { ...wish, before, attempts });
    best = plan ?? best;
    const ratio = (plan?.tokensAfter ?? best?.tokensAfter ?? before) / wish.limit;
    if (ratio <= toleratedRatio || level === "extreme") break;
    level = level === "normal" && ratio <= farAbove ? "secondary" : "extreme";
  }
  return best;
}

/** Tokens of the conversation as it is shown now, its summary included. */
export function visibleTokens(history: BaseMessage[], summary: ConversationSummary | null): number {
  return countMessages(compactedHistory(history, summary)) + summaryTokens(summary);
}

/** How much of the window the conversation takes as it is shown now. */
export function usage(history: BaseMessage[], summary: ConversationSummary | null, limit: number): WindowUsage {
  return weigh(visibleTokens(history, summary), limit);
}

function planAt(
  level: CompressionLevel,
  history: BaseMessage[],
  summary: ConversationSummary | null,
  { keep, keepIds = [], before, attempts }: CompactionWish & { before: number; attempts: number },
): CompactionPlan | null {
  const begin = afterSummary(history, summary);
  const end = boundary(history, begin, keep ?? levelRules[level].keep);
  const through = history[end - 1]?.id;
  const last = history.at(-1)?.id;
  if (end <= begin || through === undefined || last === undefined) return null;
  // What the user pinned and what was agreed on stays as long as there is any room.
  const agreed = agreedGoals(history, begin, end);
  const wanted = level === "extreme" ? [] : [...keepIds, ...(summary?.shown?.kept_message_ids ?? []), ...agreed];
  const asWanted = withPartners(history, new Set(wanted));
  const hidden = history.slice(0, end).filter((message) => !asWanted.has(message));
  const kept = history.filter((message, index) => index >= end || asWanted.has(message));
  const shown: Compaction = {
    level,
    kept_message_ids: [...asWanted].flatMap(({ id }) => (id === undefined ? [] : [id])),
    last_message_id: last,
    earlier: level === "extreme" ? [] : lastLines(hidden),
    operations: lastOperations(hidden).slice(-operationsPerMessage * kept.length),
  };
  const removed = history.slice(begin, end);
  const predicted = { ...fitSummary(plainSummary(removed, summary)), through_message_id: through, shown };
  const tokensAfter = visibleTokens(history, predicted);
  return { removed, kept, through_message_id: through, shown, attempts, tokensBefore: before, tokensAfter };
}

/** Words by which the user and the assistant have agreed on goals: results and calls are read again instead. */
function agreedGoals(history: readonly BaseMessage[], begin: number, end: number): string[] {
  const ids: string[] = [];
  for (let at = end - 1; at >= begin && ids.length < mostGoals; at -= 1) {
    const message = history[at];
    if (message?.id === undefined || isToolMessage(message) || isSystemMessage(message)) continue;
    const hasCalls = isAIMessage(message) && (message.tool_calls ?? []).length > 0;
    if (!hasCalls && importanceOf(history, at) === "must_keep") ids.push(message.id);
  }
  return ids;
}

/** Where the kept messages begin: a result is never kept without its call. */
function boundary(history: readonly BaseMessage[], begin: number, keep: number): number {
  let end = history.length - keep;
  while (end > begin && isResult(history[end])) end -= 1;
  return end;
}

/** The wanted messages with their calls and results, in their order. */
function withPartners(messages: readonly BaseMessage[], wanted: ReadonlySet<string>): Set<BaseMessage> {
  const kept = new Set<BaseMessage>();
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index];
    if (message === undefined) continue;
    const group = [message];
    while (isResult(messages[index + 1])) group.push(...messages.slice((index += 1), index + 1));
    if (group.some(({ id }) => id !== undefined && wanted.has(id))) for (const one of group) kept.add(one);
  }
  return kept;
}

function isResult(message: BaseMessage | undefined): boolean {
  return message !== undefined && isToolMessage(message);
}

/** Who said what in the last of these messages, a line each. */
export function lastLines(messages: readonly BaseMessage[]): string[] {
  return messages.slice(-earlierLines).flatMap((message) => lineOf(message));
}

/** Who said what, in a few words. */
function lineOf(message: BaseMessage): string[] {
  // A message of the program, which stays whole.
  if (isSystemMessage(message)) return [];
  const line = textOf(message.content).trim().split("\n", 1)[0] ?? "";
  const calls = isAIMessage(message) ? (message.tool_calls ?? []).map(({ name }) => name) : [];
  const words = line === "" && calls.length > 0 ? `calls ${calls.join(", ")}` : line;
  if (words === "") return [];
  const who = isHumanMessage(message) ? "user" : isToolMessage(message) ? (message.name ?? "tool") : "assistant";
  const text = `${who}: ${words}`;
  return [text.length > lineLength ? `${text.slice(0, lineLength - 1).replace(/\p{Cs}$/u, "")}…` : text];
}

/** What the runtime notes in a result of a call that changed the workspace. */
const Operations = z.array(z.object({ type: z.string(), path: z.string() })).catch([]);

/** Each path once, with its last change. */
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
