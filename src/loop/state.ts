import { MessagesValue, ReducedValue, StateSchema } from "@langchain/langgraph";
import { z } from "zod";
import { LoopPhase } from "../state.ts";

/** Why the loop ended (LOOP-02). */
export const EndReason = z.enum(["answered", "iteration_limit", "timeout", "token_limit", "error"]);
export type EndReason = z.infer<typeof EndReason>;

/** What of the history the model sees in one call: decided by `assemble`, applied by `call_model` (law 5). */
export const ViewPlan = z.object({
  /** Index of the first message of the history that is shown. */
  first: z.number().int(),
  /** Estimated tokens of the whole view. */
  tokens: z.number().int(),
});
export type ViewPlan = z.infer<typeof ViewPlan>;

/** The longest wait per iteration: calls of one reply wait side by side, so their waits are not added up. */
const longestWaits = new ReducedValue(z.record(z.string(), z.number()).default({}), {
  reducer: (left: Record<string, number>, right: Record<string, number>) => {
    const merged = { ...left };
    for (const [iteration, wait] of Object.entries(right)) merged[iteration] = Math.max(merged[iteration] ?? 0, wait);
    return merged;
  },
});

/**
 * One call of the loop (LOOP-06). `messages` holds only what this call added. `start_time` is milliseconds since 1970;
 * `waits` are the milliseconds spent waiting for a person, by iteration, which no limit counts (C-28).
 */
export const LoopState = new StateSchema({
  messages: MessagesValue,
  iteration_count: z.number().int().default(0),
  phase: LoopPhase.default("idle"),
  start_time: z.number().default(0),
  waits: longestWaits,
  total_tokens_used: z.number().default(0),
  view: ViewPlan.nullable().default(null),
  /** Set when a limit is reached: the next model call is the last and has no tools. */
  closing: EndReason.nullable().default(null),
  end_reason: EndReason.nullable().default(null),
  last_error: z.string().nullable().default(null),
});
export type LoopState = typeof LoopState.State;
export type LoopUpdate = typeof LoopState.Update;
