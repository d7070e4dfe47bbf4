import { isAIMessage, isHumanMessage, type BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import type { ConversationSummary } from "../../state.ts";
import { textOf } from "@millrace/engine/message-kinds";
import { countText } from "../tokens/tokens.ts";

/** Share of the window at which compression starts. */
const autoThreshold = 0.8;
/** Share from which compression is suggested. */
const hintThreshold = 0.6;
/** Target share for `to_remove`; compression itself aims lower. */
const targetAfter = 0.5;
/** Maximum characters of a summary. */
export const summaryMaxLength = 1000;

/** The model's summary; every field is optional. */
export const SummaryAnswer = z.object({
  goal: z.string().default(""),
  completed: z.array(z.string()).default([]),
  todo: z.array(z.string()).default([]),
  attempted_solutions: z.array(z.string()).default([]),
  current_problem: z.string().default(""),
  key_decisions: z.array(z.string()).default([]),
});

/** How full the model's window is. Tokens are estimates and count reasoning too. */
export interface WindowUsage {
  tokens: number;
  limit: number;
  /** Tokens / limit; above 1 if it does not fit. */
  ratio: number;
  /** At `hint` a client may suggest compression; `full` starts it. */
  level: "normal" | "hint" | "full";
  /** Tokens to remove so that half of the window is free. */
  to_remove: number;
}

/** Compares tokens with a limit. */
export function weigh(tokens: number, limit: number): WindowUsage {
  const ratio = tokens / limit;
  const level = ratio >= autoThreshold ? "full" : ratio >= hintThreshold ? "hint" : "normal";
  return { tokens, limit, ratio, level, to_remove: Math.max(0, Math.ceil(tokens - limit * targetAfter)) };
}

/** Tokens of a summary with its extra lines. */
export function summaryTokens(summary: ConversationSummary | null): number {
  if (summary === null) return 0;
  const { through_message_id: _, shown, ...words } = summary;
  return countText(JSON.stringify(words) + [...(shown?.earlier ?? []), ...(shown?.operations ?? [])].join("\n"));
}

/** Shortens a summary to a token limit by dropping its oldest extra lines; its text stays. */
export function summaryWithin(summary: ConversationSummary, tokens: number): ConversationSummary {
  let fitted = summary;
  while (fitted.shown !== undefined && summaryTokens(fitted) > tokens) {
    const { earlier, operations } = fitted.shown;
    if (earlier.length + operations.length === 0) break;
    const less = earlier.length > 0 ? { earlier: earlier.slice(1) } : { operations: operations.slice(1) };
    fitted = { ...fitted, shown: { ...fitted.shown, ...less } };
  }
  return fitted;
}

/** A summary by rule, used when the model fails. */
export function plainSummary(
  messages: readonly BaseMessage[],
  previous: ConversationSummary | null,
): z.infer<typeof SummaryAnswer> {
  const requests = messages.filter(isHumanMessage).map((message) => firstLine(textOf(message.content)));
  const answers = messages
    .filter((message) => isAIMessage(message) && textOf(message.content) !== "")
    .map((message) => firstLine(textOf(message.content)));
  return {
    goal: previous?.goal ?? requests[0] ?? "",
    completed: [...(previous?.completed ?? []), ...answers],
    todo: previous?.todo ?? [],
    attempted_solutions: previous?.attempted_solutions ?? [],
    current_problem: requests.at(-1) ?? previous?.current_problem ?? "",
    key_decisions: previous?.key_decisions ?? [],
  };
}

/** Characters per list entry besides its text: two quotation marks and a comma. */
const entryMarks = 3;

/** Shortens a summary to its maximum length: drops the oldest entries, then cuts long texts. */
export function fitSummary(answer: z.infer<typeof SummaryAnswer>): z.infer<typeof SummaryAnswer> {
  const fitted = structuredClone(answer);
  const lists = [fitted.attempted_solutions, fitted.completed, fitted.key_decisions, fitted.todo];
  // More entries than this cannot fit.
  const maxEntries = Math.floor(summaryMaxLength / entryMarks);
  for (const list of lists) list.splice(0, Math.max(0, list.length - maxEntries));
  while (JSON.stringify(fitted).length > summaryMaxLength) {
    const longest = lists.reduce((left, right) => (size(right) > size(left) ? right : left));
    if (longest.length > 1) longest.shift();
    else if (longest.length === 1 && (longest[0]?.length ?? 0) > 80) longest[0] = `${longest[0]?.slice(0, 79)}…`;
    else if (longest.length === 1) longest.pop();
    else {
      const field = fitted.goal.length > fitted.current_problem.length ? "goal" : "current_problem";
      fitted[field] = fitted[field].slice(0, Math.floor(fitted[field].length * 0.75));
    }
  }
  return fitted;
}

function size(list: string[]): number {
  return list.reduce((total, text) => total + text.length + entryMarks, 0);
}

function firstLine(text: string): string {
  const line = text.split("\n", 1)[0] ?? "";
  return line.length > 120 ? `${line.slice(0, 119)}…` : line;
}
