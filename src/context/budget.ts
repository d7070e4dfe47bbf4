import { ContextShares } from "../user-context.ts";

/** Default shares of the model's input. */
export const defaultShares = ContextShares.parse({});

/** Share of the window reserved for the answer. */
const outputReserve = 0.3;

/** Intended split of a 128,000-token window in percent; other windows proportionally. */
export const referenceSplit = { system: 15, history: 47, user_input: 4, output_reserve: 34 } as const;

/** A part of the window. */
export type BudgetCategory = keyof typeof referenceSplit;

/** Tokens of one category. `is_refused`: there was no room, so they are not counted. */
export interface Allocation {
  category: BudgetCategory;
  tokens: number;
  percent: number;
  /** The intended share. */
  reference_percent: number;
  is_refused: boolean;
}

/** How a window is filled, and the tokens left. */
export interface BudgetReport {
  total: number;
  remaining: number;
  allocations: Allocation[];
}

/** Tracks a token budget. */
export interface BudgetMonitor {
  /** Allocates tokens; returns `false`, allocating none, if too few are left. */
  allocate(category: BudgetCategory, tokens: number): boolean;
  remaining(): number;
  report(): BudgetReport;
}

/** Creates a monitor with `total` free tokens. */
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

/** The budget of a request: the answer's reserve first, the history last. */
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

/** Input tokens of a window: what the longest answer leaves, at least 70 %. */
export function inputTokens({ context, output }: { context: number; output: number }): number {
  return Math.max(0, context - output, Math.floor(context * (1 - outputReserve)));
}

/**
 * Tokens for the history under explicit shares: its own plus what others leave. `others` is their total; references and
 * the system text are never cut, so their excess reduces the history.
 */
export function historyTokens(readable: number, shares: ContextShares, others: number): number {
  const whole = Object.values(shares).reduce((sum, share) => sum + share, 0);
  return Math.max(0, Math.floor(readable * whole) - others);
}

/**
 * Tokens for all collectors: their shares and that of search results. After a failed simulation they also get the
 * history's share, so that the failure is shown in full.
 */
export function collectedTokens(readable: number, shares: ContextShares, hasError: boolean): number {
  const { diagnostics, implicit, dependencies, rag, history } = shares;
  return Math.floor(readable * (diagnostics + implicit + dependencies + rag + (hasError ? history : 0)));
}
