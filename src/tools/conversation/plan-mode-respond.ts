import { z } from "zod";
import { defineTool } from "../runtime/tool.ts";
import { onlyInConversation } from "../runtime/result.ts";

/** Shows the user a plan and waits for their answer. */
export const planModeRespond = defineTool({
  name: "plan_mode_respond",
  description:
    "Shows the user a plan before anything is done and waits until they agree, want it changed, or refuse it. Use it when " +
    "the user asked to see a plan first.",
  schema: z.object({
    response: z.string().trim().min(1).describe("the plan, in the user's language"),
    options: z
      .array(z.string().trim().min(1))
      .max(6)
      .optional()
      .describe("up to six ways to go on, where the user has to choose"),
  }),
  offered: { profiles: [] },
  effect: "pure",
  run: async () => onlyInConversation("plan_mode_respond"),
  inTurn: { asks: ({ response, options }) => ({ kind: "plan_review", question: response, options: options ?? [] }) },
  example: { title: "Two steps", body: '{"response": "1. Read the notes. 2. Write a summary of them."}' },
});
