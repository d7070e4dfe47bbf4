import { z } from "zod";
import { ModelPrice } from "@millrace/models/registry/model-profile";

/** Limits of one loop call; times in seconds, sizes in characters. */
export const LoopLimits = z.object({
  max_iterations: z.number().int().positive().default(60),
  /** The iteration from which the model sees how many are left; default 90 % of the limit. */
  soft_warning_at: z.number().int().positive().optional(),
  /** Calls executed per reply; calls that share a resource run one after another. */
  max_tool_calls_per_turn: z.number().int().positive().default(50),
  timeout_seconds: z.number().positive().default(3600),
  max_parallel_tools: z.number().int().positive().default(3),
  max_tool_retries: z.number().int().nonnegative().default(2),
  /** Whether the turn goes on after a failed tool. Default true; else the model answers with what it has. */
  continue_on_tool_error: z.boolean().optional(),
  /** Time limit for each tool call; default the tool's own. */
  tool_timeout_seconds: z.number().positive().optional(),
  tool_result_max_length: z.number().int().positive().default(96_000),
  /** Total tokens of all model calls; default unlimited. */
  max_tokens: z.number().int().positive().optional(),
  /** Total cost of all model calls, in the unit of `price`; needs a known price. */
  max_cost: z.number().positive().optional(),
  price: ModelPrice.optional(),
  safe_zone: z.union([z.number().positive(), z.string().regex(/^(?![0.]+\D*$)\d+(\.\d+)?[km]?$/iu)]).default("80k"),
  /** User requests shown to the model with their replies; `null`, the default: as many as fit. */
  max_history_rounds: z.number().int().positive().nullable().default(null),
  same_failure_limit: z.number().int().positive().default(2),
  stagnation_threshold: z.number().int().min(2).default(3),
  max_force_continue: z.number().int().nonnegative().default(5),
  /** Continuations of one output that its length limit cut off. */
  generate_max_rounds: z.number().int().nonnegative().default(5),
  /** Retries of a failed model call; -1: unlimited within the time-out. */
  agentic_connection_retries: z.number().int().min(-1).default(3),
});
export type LoopLimits = z.infer<typeof LoopLimits>;
