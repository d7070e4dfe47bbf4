import type { ContextShares } from "../user-context.ts";

/** The share of a window that is kept for the answer (CTX-21). */
const outputReserve = 0.3;

/** How a window of 128,000 tokens is thought to be filled (CTX-22), in percent; other windows alike. */
export const referenceSplit = { system: 15, history: 47, user_input: 4, output_reserve: 34 } as const;

/** What a part of the window is for. */
export type BudgetCategory = keyof typeof referenceSplit;

/** What one category takes of the window. `is_refused`: there was no room, so it is not counted among what is taken. */
export interface Allocation {
  category: BudgetCategory;
  tokens: number;
  percent: number;
  /** What it takes as a rule (CTX-22). */
  reference_percent: number;
  is_refused: boolean;
}

/** How a window is filled, and how many tokens are left. */
export interface BudgetReport {
  total: number;
  remaining: number;
  allocations: Allocation[];
}

/** Watches over a number of tokens (CTX-21). */
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
 * Tokens for all that collectors find, of those that a model may read (CTX-16): their shares, and that of search results.
 * After a failed simulation the history lends its own, so that what failed is there whole.
 */
export function collectedTokens(readable: number, shares: ContextShares, hasError: boolean): number {
  const { diagnostics, implicit, dependencies, rag, history } = shares;
  return Math.floor(readable * (diagnostics + implicit + dependencies + rag + (hasError ? history : 0)));
}
