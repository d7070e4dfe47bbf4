import type { LoopLimits } from "../state.ts";
import type { EndReason } from "./state.ts";

/** Milliseconds the loop may still work; waiting for a person does not count (C-28). Never negative. */
export function remainingMs(state: { start_time: number; paused_ms: number }, limits: LoopLimits, now: number): number {
  return Math.max(0, limits.timeout_seconds * 1000 - (now - state.start_time - state.paused_ms));
}

/** The limit that the loop has reached before its next iteration, if any (LOOP-03). */
export function reachedLimit(
  state: { iteration_count: number; start_time: number; paused_ms: number },
  limits: LoopLimits,
  now: number,
): EndReason | null {
  if (remainingMs(state, limits, now) === 0) return "timeout";
  // The last allowed iteration is the one that answers, so that a limit never ends in silence.
  if (state.iteration_count + 1 >= limits.max_iterations) return "iteration_limit";
  return null;
}

/**
 * Supersteps LangGraph may take so that its own limit never fires before ours (LOOP-04): four per iteration, and the
 * steps around them.
 */
export function recursionLimit(limits: LoopLimits): number {
  return limits.max_iterations * 4 + 10;
}
