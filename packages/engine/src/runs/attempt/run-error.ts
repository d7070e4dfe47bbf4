import { z } from "zod";
import { adviceOf, errorMessage, explain, isAppError } from "../../errors/errors.ts";
import type { RunError } from "../../storage/records.ts";

/** What a graph's schemas throw at an input or a context they do not accept, of any copy of zod. */
const Refusal = z.object({
  name: z.enum(["ZodError", "$ZodError"]),
  issues: z.array(z.object({ path: z.array(z.union([z.string(), z.number()])), message: z.string() })),
});

/** What a stream's `error` event shows of what a node threw: its name (of an expected failure its code) and its text. */
export function toRunError(error: unknown): RunError {
  if (isAppError(error)) {
    const advice = adviceOf(error);
    return { error: error.code, message: explain(error), ...(advice === undefined ? {} : { advice }) };
  }
  const refused = Refusal.safeParse(error);
  if (refused.success) {
    const problems = refused.data.issues.map(({ path, message }) => `${path.join(".") || "input"}: ${message}`);
    return { error: "invalid_parameter", message: `The graph does not accept this: ${problems.join("; ")}.` };
  }
  return { error: error instanceof Error ? error.name : "Error", message: errorMessage(error) };
}
