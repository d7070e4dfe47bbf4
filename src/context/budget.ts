import { ContextShares } from "../user-context.ts";

/** How what a model may read is shared where the run does not say. */
export const usualShares = ContextShares.parse({});

/** The share of a window that is kept for the answer. */
const outputReserve = 0.3;

/** How a window of 128,000 tokens is thought to be filled, in percent; other windows alike. */
export const referenceSplit = { system: 15, history: 47, user_input: 4, output_reserve: 34 } as const;

/** What a part of the window is for. */
export type BudgetCategory = keyof typeof referenceSplit;

/** What one category takes of the window. `is_refused`: there was no room, so it is not counted among what is taken. */
export interface Allocation {
  category: BudgetCategory;
  tokens: number;
  percent: number;
  /** What it takes as a rule. */
  reference_percent: number;
  is_refused: boolean;
}

/** How a window is filled, and how many tokens are left. */
export interface BudgetReport {
  total: number;
  remaining: number;
  allocations: Allocation[];
}

/** Watches over a number of tokens. */
export interface BudgetMonitor {
  /** Takes tokens for a category; `false` where there are not so many left: then none are taken. */
  allocate(category: BudgetCategory, tokens: number): boolean;
  remaining(): number;
  report(): BudgetReport;
}

/** A monitor of `total` tokens of which nothing is taken yet. */
export function budgetMonitor(total: number): BudgetMonitor {
  const allocations: Allocation[] = [];
  let left = total;
  return {
    allocate(category, tokens) {
      const is_refused = tokens > left;
      if (!is_refused) left -= tokens;
      const percent = total === 0 ? 0 : Math.round((tokens / total) * 1000) / 10;
      allocations.push({ category, tokens, percent, reference_percent: referenceSplit[category], is_refused });
      return !is_refused;
    },
    remaining: () => left,
    report: () => ({ total, remaining: left, allocations: [...allocations] }),
  };
}

/** What a request takes of a window; the answer has its room first, and the history what all others leave. */
export function windowBudget(
  limit: number,
  { system, user_input, history }: Record<Exclude<BudgetCategory, "output_reserve">, number>,
): BudgetReport {
  const monitor = budgetMonitor(limit);
  monitor.allocate("output_reserve", Math.floor(limit * outputReserve));
  monitor.allocate("system", system);
  monitor.allocate("user_input", user_input);
  monitor.allocate("history", history);
  return monitor.report();
}

/**
 * Tokens of a window that may be read: those beside the longest answer. A window that an answer could nearly fill keeps
 * 30 % for it.
 */
export function inputTokens({ context, output }: { context: number; output: number }): number {
  return Math.max(0, context - output, Math.floor(context * (1 - outputReserve)));
}

/**
 * Tokens for the history where the shares bind: its own, and what all others leave of theirs. `others` is what they
 * take in all; what the user refers to is never cut, nor is the system text, so more than their shares is the history's
 * loss.
 */
export function historyTokens(readable: number, shares: ContextShares, others: number): number {
  const whole = Object.values(shares).reduce((sum, share) => sum + share, 0);
  return Math.max(0, Math.floor(readable * whole) - others);
}

/**
 * Tokens for all that collectors find, of those that a model may read: their shares, and that of search results. After
 * a failed simulation the history lends its own, so that what failed is there whole.
 */
export function collectedTokens(readable: number, shares: ContextShares, hasError: boolean): number {
  const { diagnostics, implicit, dependencies, rag, history } = shares;
  return Math.floor(readable * (diagnostics + implicit + dependencies + rag + (hasError ? history : 0)));
}
