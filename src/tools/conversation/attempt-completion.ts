import { z } from "zod";
import { success } from "../runtime/result.ts";
import { defineTool } from "../runtime/tool.ts";

/** Declares the task done with its final result, which ends the turn. */
export const attemptCompletion = defineTool({
  name: "attempt_completion",
  description:
    "Presents the final result of the task and ends the turn. Call it alone, and only after the results of all other calls " +
    "have come and the last ones did not fail. For a plain answer no call is needed.",
  schema: z.object({
    result: z.string().trim().min(1).describe("the final result, complete in itself, without questions or offers"),
    command: z
      .string()
      .trim()
      .min(1)
      .optional()
      .describe("a command that demonstrates the result; it is shown to the user, never run"),
  }),
  offered: { profiles: ["agentic"] },
  effect: "pure",
  run: async ({ result, command }) => {
    const content = command === undefined ? result : `${result}\n\n\`\`\`sh\n${command}\n\`\`\``;
    const data = { result, command: command ?? null };
    return success("The task is complete.", { content, data, message_zh: "任务已完成。" });
  },
  inTurn: { resultMode: "show", completes: true },
  example: { title: "With a demonstration", body: '{"result": "The page is ready.", "command": "open index.html"}' },
});
