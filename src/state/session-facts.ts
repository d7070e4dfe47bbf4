import { z } from "zod";

/** What a tool has found out for the session: references to files, the last figures, the last failure. */
export const SessionFacts = z.object({
  circuit_file_path: z.string().optional(),
  sim_result_path: z.string().optional(),
  /** The goals as JSON, with how each stands. */
  design_goals_summary: z.string().optional(),
  last_metrics: z.record(z.string(), z.number()).optional(),
  error_context: z.string().nullable().optional(),
});
export type SessionFacts = z.infer<typeof SessionFacts>;
