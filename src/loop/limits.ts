import type { LoopLimits } from "../state.ts";
import type { EndReason } from "./state.ts";

/** When the loop began, and how long it has waited for a person, by iteration. Milliseconds. */
export interface LoopClock {
  start_time: number;
  waits: Record<string, number>;
}

/** Milliseconds the loop has worked. */
export function workedMs({ start_time, waits }: LoopClock, now: number): number {
  return now - start_time - Object.values(waits).reduce((sum, wait) => sum + wait, 0);
}

/** Milliseconds the loop may still work; waiting for a person does not count (C-28). Never negative. */
export function remainingMs(state: LoopClock, limits: LoopLimits, now: number): number {
  return Math.max(0, limits.timeout_seconds * 1000 - workedMs(state, now));
}

/** The limit that the loop has reached before its next iteration, if any (LOOP-03). */
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

/**
 * Supersteps LangGraph may take so that its own limit never fires before ours (LOOP-04): four per iteration, and the
 * steps around them.
 */
export function recursionLimit(limits: LoopLimits): number {
  return limits.max_iterations * 4 + 10;
}
