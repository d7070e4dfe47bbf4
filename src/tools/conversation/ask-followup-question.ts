import { z } from "zod";
import { defineTool } from "../runtime/tool.ts";
import { onlyInConversation } from "../runtime/result.ts";

/** Asks the user one question and waits for the answer. */
export const askFollowupQuestion = defineTool({
  name: "ask_followup_question",
  description:
    "Asks the user one precise question and waits for the answer. Use it only when the work cannot go on without it: when " +
    "a sensible assumption is possible, state the assumption and go on instead.",
  schema: z.object({
    question: z.string().trim().min(1).describe("the question, in the user's language"),
    options: z
      .array(z.string().trim().min(1))
      .max(6)
      .optional()
      .describe("up to six answers to choose from; the user may also answer in other words"),
  }),
  effect: "pure",
  run: async () => onlyInConversation("ask_followup_question"),
  inTurn: { asks: ({ question, options }) => ({ kind: "followup", question, options: options ?? [] }) },
  example: { title: "With options", body: '{"question": "Which report do you mean?", "options": ["May", "June"]}' },
});
