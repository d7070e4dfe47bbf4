import { z } from "zod";
import { ModelPrice } from "@millrace/models/registry/model-profile";

/** Limits of one loop call; times in seconds, sizes in characters. */
export const LoopLimits = z.object({
  max_iterations: z.number().int().positive().default(60),
  /** The iteration from which on the model reads how many are left; default nine tenths of the limit. */
  soft_warning_at: z.number().int().positive().optional(),
  /** Calls of one reply that are made; those that exclude each other wait for each other. */
  max_tool_calls_per_turn: z.number().int().positive().default(50),
  timeout_seconds: z.number().positive().default(3600),
  max_parallel_tools: z.number().int().positive().default(3),
  max_tool_retries: z.number().int().nonnegative().default(2),
  /** Whether the turn goes on after a tool has failed. Default yes; else the model answers from what is known. */
  continue_on_tool_error: z.boolean().optional(),
  /** How long each tool call may take at most, where that is not left to the tool. */
  tool_timeout_seconds: z.number().positive().optional(),
  tool_result_max_length: z.number().int().positive().default(64_000),
  /** Tokens of all model calls together; default unlimited. */
  max_tokens: z.number().int().positive().optional(),
  /** Money of all model calls together, in the unit of `price`; it binds only where a price is known. */
  max_cost: z.number().positive().optional(),
  price: ModelPrice.optional(),
  safe_zone: z.union([z.number().positive(), z.string().regex(/^(?![0.]+\D*$)\d+(\.\d+)?[km]?$/iu)]).default("80k"),
  /** Requests of the user that the model is shown with what came of them; `null`, the default, for as many as there is room. */
  max_history_rounds: z.number().int().positive().nullable().default(null),
  same_failure_limit: z.number().int().positive().default(2),
  stagnation_threshold: z.number().int().min(2).default(3),
  max_force_continue: z.number().int().nonnegative().default(5),
  /** Further pieces of one output that was cut at the length limit. */
  generate_max_rounds: z.number().int().nonnegative().default(5),
  /** Further tries of a model call that could not be made; -1 is without limit within the time-out. */
  agentic_connection_retries: z.number().int().min(-1).default(3),
});
export type LoopLimits = z.infer<typeof LoopLimits>;
