import { countText } from "./tokens.ts";

/** What was gathered from one source. `reserved` tokens are its own, whatever else there is. */
export interface GatheredItem {
  source: string;
  content: string;
  reserved: number;
}

/** A gathered item as it is shown. */
export interface AssembledItem {
  source: string;
  content: string;
  token_count: number;
  truncated: boolean;
}

/** What fits, in the order it was given in (CTX-14). */
export interface AssembledContext {
  items: AssembledItem[];
  total_tokens: number;
  /** Share of the budget that is taken. */
  budget_utilization: number;
  truncated_count: number;
}

/**
 * Shares a budget of tokens (C-10): first every item gets what is reserved for it, as far as it needs it and in order;
 * what is left, unused reservations too, goes to the items in order. The first item (diagnostics) is kept up to its
 * reservation even where that is more than the budget. What does not fit keeps its beginning and its end.
 */
export function assembleContext(gathered: readonly GatheredItem[], budget: number): AssembledContext {
  const needs = gathered.map(({ content }) => countText(content));
  const grants = gathered.map(() => 0);
  let left = budget;
  const grant = (index: number, wanted: number): void => {
    const given = Math.max(0, Math.min(wanted, left));
    grants[index] = (grants[index] ?? 0) + given;
    left -= given;
  };
  for (const [index, { reserved }] of gathered.entries()) {
    if (index === 0) left = Math.max(left, Math.min(needs[0] ?? 0, reserved));
    grant(index, Math.min(needs[index] ?? 0, reserved));
  }
  for (const [index, need] of needs.entries()) grant(index, need - (grants[index] ?? 0));
  const items = gathered.flatMap(({ source, content }, index): AssembledItem[] => {
    const granted = grants[index] ?? 0;
    const truncated = granted < (needs[index] ?? 0);
    const shown = truncated ? cutToTokens(content, granted) : content;
    return shown === "" ? [] : [{ source, content: shown, token_count: countText(shown), truncated }];
  });
  const total_tokens = items.reduce((total, { token_count }) => total + token_count, 0);
  return {
    items,
    total_tokens,
    budget_utilization: budget === 0 ? 0 : total_tokens / budget,
    truncated_count: gathered.length - items.filter(({ truncated }) => !truncated).length,
  };
}

/** Tokens that the mark of a cut takes. */
const markTokens = 12;

/** The beginning (two thirds) and the end of a text, in whole lines, within a number of tokens; empty where none fits. */
export function cutToTokens(text: string, tokens: number): string {
  const room = tokens - markTokens;
  if (room <= 0) return "";
  const lines = text.split("\n");
  const head = fitting(lines, (room * 2) / 3);
  const tail = fitting(lines.slice(head.length).toReversed(), room / 3).toReversed();
  const left = lines.length - head.length - tail.length;
  if (left <= 0) return text;
  return [...head, `[… ${left} lines left out …]`, ...tail].join("\n");
}

function fitting(lines: readonly string[], tokens: number): string[] {
  let left = tokens;
  const end = lines.findIndex((line) => (left -= countText(`${line}\n`)) < 0);
  return lines.slice(0, end === -1 ? lines.length : end);
}
