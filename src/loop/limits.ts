import { mostAgents } from "../agents/delegation.ts";
import type { LoopLimits, ModelPrice, ToolPolicy } from "../state.ts";
import type { EndReason } from "./state.ts";

/** When the loop began, and how long it has waited for a person, by iteration. Milliseconds. */
export interface LoopClock {
  start_time: number;
  waits: Record<string, number>;
}

/**
 * How many calls of one reply are run (LOOP-03): one where the user has chosen the tool (TOOL-08), and in a guarded turn
 * (CONF-07).
 */
export function callsPerReply(call: { limits: LoopLimits; forcedTool?: string; toolPolicy?: ToolPolicy }): number {
  const isOne = call.forcedTool !== undefined || call.toolPolicy === "guarded";
  return isOne ? 1 : call.limits.max_tool_calls_per_turn;
}

/** How many calls of one session run at once: one after the other unless the policy is `auto` (QUEUE-04). */
export function callsAtOnce({ limits, toolPolicy = "auto" }: { limits: LoopLimits; toolPolicy?: ToolPolicy }): number {
  return toolPolicy === "auto" ? limits.max_parallel_tools : 1;
}

/** Milliseconds the loop has worked. */
export function workedMs({ start_time, waits }: LoopClock, now: number): number {
  return now - start_time - Object.values(waits).reduce((sum, wait) => sum + wait, 0);
}

/** Milliseconds the loop may still work; waiting for a person does not count (C-28). Never negative. */
export function remainingMs(state: LoopClock, limits: LoopLimits, now: number): number {
  return Math.max(0, limits.timeout_seconds * 1000 - workedMs(state, now));
}

/** The limit that the loop has reached before its next iteration, if any (LOOP-03): then that one answers. */
export function reachedLimit(
  state: LoopClock & { iteration_count: number },
  limits: LoopLimits,
  now: number,
): EndReason | null {
  if (remainingMs(state, limits, now) === 0) return "timeout";
  // The last allowed iteration is the one that answers, so that a limit never ends in silence.
  if (state.iteration_count + 1 >= limits.max_iterations) return "iteration_limit";
  return null;
}

/** What the model calls of one loop have used, and the estimated tokens of the next one's prompt. */
export interface Spent {
  total_tokens_used: number;
  total_cost: number;
  next: number;
}

/**
 * What the budgets say of the next model call: `spent` forbids it, `last` allows it as the closing one, because another
 * would not fit. Without a budget, or a price for it, nothing is said.
 */
export function reachedBudget(
  { total_tokens_used, total_cost, next }: Spent,
  { max_tokens, max_cost, price }: LoopLimits,
): { reason: "token_limit" | "cost_limit"; stage: "last" | "spent" } | null {
  if (max_tokens !== undefined) {
    if (total_tokens_used >= max_tokens) return { reason: "token_limit", stage: "spent" };
    if (total_tokens_used + 2 * next >= max_tokens) return { reason: "token_limit", stage: "last" };
  }
  if (max_cost !== undefined && price !== undefined) {
    if (total_cost >= max_cost) return { reason: "cost_limit", stage: "spent" };
    if (total_cost + 2 * costOf({ input: next, output: 0 }, price) >= max_cost) {
      return { reason: "cost_limit", stage: "last" };
    }
  }
  return null;
}

/** What so many tokens cost, in the unit of the price. */
export function costOf(tokens: { input: number; output: number }, price: ModelPrice): number {
  return (tokens.input * price.input + tokens.output * price.output) / 1_000_000;
}

/**
 * Supersteps LangGraph may take so that its own limit never fires before ours (LOOP-04): four per iteration, those of
 * agents that work one after the other, and the steps around them.
 */
export function recursionLimit(limits: LoopLimits): number {
  return limits.max_iterations * (4 + 2 * mostAgents + 1) + 10;
}
