import { countText } from "./tokens/tokens.ts";

/** The text of one source. Its `reserved` tokens cannot be taken by others. */
export interface GatheredItem {
  source: string;
  content: string;
  reserved: number;
}

/** An item as shown to the model. */
export interface AssembledItem {
  source: string;
  content: string;
  token_count: number;
  truncated: boolean;
}

/** The items that fit, in the given order. */
export interface AssembledContext {
  items: AssembledItem[];
  total_tokens: number;
  /** Used share of the budget. */
  budget_utilization: number;
  truncated_count: number;
}

/**
 * Distributes a token budget: first each item gets its reservation, in order and as far as needed; the rest, with
 * unused reservations, is distributed in order. The first item (diagnostics) keeps its reservation even beyond the
 * budget. Cut items keep their beginning and end.
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

/** Tokens of the cut mark. */
const markTokens = 12;

/**
 * The beginning (two thirds) and end of a text within a token limit, in whole lines where possible. Empty if nothing
 * fits.
 */
export function cutToTokens(text: string, tokens: number): string {
  const room = tokens - markTokens;
  if (room <= 0) return "";
  if (countText(text) <= room) return text;
  const head = beginningOf(text, (room * 2) / 3);
  const tail = endOf(text.slice(head.length), room / 3);
  const left = text.slice(head.length, text.length - tail.length);
  if (left === "") return text;
  const areLines = (head === "" || head.endsWith("\n")) && (tail === "" || left.endsWith("\n"));
  const what = areLines ? `${left.replace(/\n$/u, "").split("\n").length} lines` : `${left.length} characters`;
  return [head.replace(/\n$/u, ""), `[… ${what} left out …]`, tail].filter((part) => part !== "").join("\n");
}

/** Whole lines; if they fill less than half of the room, also the start of the next. */
function beginningOf(text: string, tokens: number): string {
  const shownLength = fittingLength(tokens, (length) => text.slice(0, length));
  const whole = text.slice(0, shownLength).lastIndexOf("\n") + 1;
  if (countText(text.slice(0, whole)) >= tokens / 2) return text.slice(0, whole);
  return text.slice(0, isHighHalf(text, shownLength - 1) ? shownLength - 1 : shownLength);
}

/** The same from the end. */
function endOf(text: string, tokens: number): string {
  const shownLength = fittingLength(tokens, (length) => text.slice(Math.max(0, text.length - length)));
  const from = Math.max(0, text.length - shownLength);
  const next = from === 0 ? 0 : text.indexOf("\n", from - 1) + 1;
  if (next > 0 && countText(text.slice(next)) >= tokens / 2) return text.slice(next);
  return text.slice(isHighHalf(text, from - 1) ? from + 1 : from);
}

/** The largest number of characters that fits; a character counts at least a quarter token. */
function fittingLength(tokens: number, part: (length: number) => string): number {
  let [fits, tooMany] = [0, Math.floor(tokens * 4) + 1];
  while (tooMany - fits > 1) {
    const middle = Math.floor((fits + tooMany) / 2);
    if (countText(part(middle)) <= tokens) fits = middle;
    else tooMany = middle;
  }
  return fits;
}

function isHighHalf(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0xd8_00 && code <= 0xdb_ff;
}
