import { mostAgents } from "../../agents/delegation.ts";
import type { ModelPrice, ReadProfile } from "@millrace/models/registry/model-profile";
import type { LoopLimits, RunContext, ToolPolicy } from "../../state.ts";
import type { EndReason, LoopState } from "../state.ts";

/**
 * The time of a loop call in this process: it begins anew when the call goes on after a stop of the server or an
 * answer, so that neither counts. Milliseconds.
 */
export interface LoopClock {
  /** When the call began here, since 1970. */
  since: number;
  /** What it had worked before, as the state says; `undefined` until a step has read it. */
  before: number | undefined;
}

/** How many calls of one reply are run: one where the user has chosen the tool, and in a guarded turn. */
export function callsPerReply(call: { limits: LoopLimits; forcedTool?: string; toolPolicy?: ToolPolicy }): number {
  const isOne = call.forcedTool !== undefined || call.toolPolicy === "guarded";
  return isOne ? 1 : call.limits.max_tool_calls_per_turn;
}

/**
 * How many calls of one session run at once: one after the other unless the policy is `auto`, and where the model
 * writes its calls as text.
 */
export function callsAtOnce(
  call: { limits: LoopLimits; model: string; toolPolicy?: ToolPolicy; toolProtocol?: RunContext["tool_protocol"] },
  profileOf: ReadProfile,
): number {
  const { limits, model, toolPolicy = "auto", toolProtocol = profileOf(model).tool_calls } = call;
  return toolPolicy === "auto" && toolProtocol === "native" ? limits.max_parallel_tools : 1;
}

/** Milliseconds the loop has worked until now, never less than its state says. Reads the clock's past off the state once. */
export function workedMs(
  clock: LoopClock,
  { worked_ms, start_time }: Pick<LoopState, "worked_ms" | "start_time">,
  now: number,
): number {
  if (clock.before === undefined) {
    clock.before = worked_ms;
    // Before the first step nothing is work, only making ready for it.
    if (start_time === 0) clock.since = now;
  }
  return Math.max(worked_ms, clock.before + now - clock.since);
}

/** Begins the clock anew where what has passed was not the loop's own time. Answers with what it has worked. */
export function restart(clock: LoopClock, { worked_ms }: { worked_ms: number }, now: number): number {
  clock.since = now;
  clock.before = worked_ms;
  return worked_ms;
}

/** Milliseconds the loop may still work. Never negative. */
export function remainingMs(worked: number, { timeout_seconds }: LoopLimits): number {
  return Math.max(0, timeout_seconds * 1000 - worked);
}

/** The limit that the loop has reached before its next iteration, if any: then that one answers. */
export function reachedLimit(
  state: { worked_ms: number; iteration_count: number },
  limits: LoopLimits,
): EndReason | null {
  if (remainingMs(state.worked_ms, limits) === 0) return "timeout";
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
 * Supersteps LangGraph may take so that its own limit never fires before ours: four per iteration, those of agents that
 * work one after the other, and the steps around them.
 */
export function recursionLimit(limits: LoopLimits): number {
  return limits.max_iterations * (4 + 2 * mostAgents + 1) + 10;
}
