import { maxAgents } from "../../agents/delegation.ts";
import type { ModelPrice, ReadProfile } from "@millrace/models/registry/model-profile";
import type { LoopLimits, RunContext, ToolPolicy } from "../../state.ts";
import type { EndReason, LoopState } from "../state.ts";

/**
 * The working time of a loop call in this process. Restarts when the call resumes after a server stop or an answer, so
 * that neither counts. Milliseconds.
 */
export interface LoopClock {
  /** Start in this process, by `performance.now()`: the machine's clock may be set meanwhile. */
  since: number;
  /** Time worked before that, from the state; `undefined` until a step has read it. */
  before: number | undefined;
}

/** Calls executed per reply: one if the user chose the tool, or in a guarded turn. */
export function callsPerReply(call: { limits: LoopLimits; forcedTool?: string; toolPolicy?: ToolPolicy }): number {
  const isOne = call.forcedTool !== undefined || call.toolPolicy === "guarded";
  return isOne ? 1 : call.limits.max_tool_calls_per_turn;
}

/** Calls of one session that run in parallel: one unless the policy is `auto` and the model has native tool calls. */
export function parallelCallLimit(
  call: { limits: LoopLimits; model: string; toolPolicy?: ToolPolicy; toolProtocol?: RunContext["tool_protocol"] },
  profileOf: ReadProfile,
): number {
  const { limits, model, toolPolicy = "auto", toolProtocol = profileOf(model).tool_calls } = call;
  return toolPolicy === "auto" && toolProtocol === "native" ? limits.max_parallel_tools : 1;
}

/** Milliseconds worked until `now`, never less than the state's. Initializes the clock from the state once. */
export function elapsedMs(
  clock: LoopClock,
  { worked_ms, start_time }: Pick<LoopState, "worked_ms" | "start_time">,
  now: number,
): number {
  if (clock.before === undefined) {
    clock.before = worked_ms;
    // Time before the first step is preparation.
    if (start_time === 0) clock.since = now;
  }
  return Math.max(worked_ms, Math.round(clock.before + now - clock.since));
}

/** Restarts the clock after time that was not the loop's own. Returns the time worked. */
export function restart(clock: LoopClock, { worked_ms }: { worked_ms: number }, now: number): number {
  clock.since = now;
  clock.before = worked_ms;
  return worked_ms;
}

/** Milliseconds the loop may still work. Never negative. */
export function remainingMs(worked: number, { timeout_seconds }: LoopLimits): number {
  return Math.max(0, timeout_seconds * 1000 - worked);
}

/** The limit reached before the next iteration, if any; that iteration must answer. */
export function reachedLimit(
  state: { worked_ms: number; iteration_count: number },
  limits: LoopLimits,
): EndReason | null {
  if (remainingMs(state.worked_ms, limits) === 0) return "timeout";
  // The last allowed iteration answers, so that no limit ends without a reply.
  if (state.iteration_count + 1 >= limits.max_iterations) return "iteration_limit";
  return null;
}

/** Usage of the loop's model calls so far, and the estimated tokens of the next prompt. */
export interface Spent {
  total_tokens_used: number;
  total_cost: number;
  next: number;
}

/**
 * Checks the budgets before a model call: `spent` forbids it, `last` allows it as the closing one, because a second
 * would not fit. `null` without a budget, or without a price for it.
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

/** The cost of tokens, in the unit of `price`. */
export function costOf(tokens: { input: number; output: number }, price: ModelPrice): number {
  return (tokens.input * price.input + tokens.output * price.output) / 1_000_000;
}

/**
 * LangGraph's superstep limit, high enough that ours is reached first: four per iteration, those of agents that work in
 * sequence, and the steps around them.
 */
export function recursionLimit(limits: LoopLimits): number {
  return limits.max_iterations * (4 + 2 * maxAgents + 1) + 10;
}
