import { z } from "zod";

/** One step of a plan. `depends_on` holds ids of earlier steps. */
export const PlanStep = z.object({
  id: z.string(),
  goal: z.string(),
  tool: z.string().nullable(),
  input: z.string(),
  depends_on: z.array(z.string()),
  status: z.enum(["pending", "running", "done", "failed", "skipped"]),
  result: z.string().nullable(),
});
export type PlanStep = z.infer<typeof PlanStep>;

/** The plan of a request. */
export const TaskPlan = z.object({
  goal: z.string(),
  steps: z.array(PlanStep),
  status: z.enum(["active", "done", "failed"]),
});
export type TaskPlan = z.infer<typeof TaskPlan>;
