import { builtInPrompts, type Prompts } from "../prompts.ts";
import { defineTemplate } from "../template.ts";

/** What stands for messages that are left out because they were too long for the model. */
export const leftOutTemplate = defineTemplate({
  name: "left_out",
  title: { en: "What was left out", zh: "省略的内容" },
  description: "Says what earlier messages were about that are left out because the conversation is too long.",
  required: ["summary"],
  content: "Note: earlier messages are left out because the conversation is too long. What they were about:\n{summary}",
});

/** The summary of messages hidden for lack of room. Sent with one model call only. */
export function leftOut({ summary }: { summary: string }, prompts: Prompts = builtInPrompts): string {
  return prompts.text(leftOutTemplate, { summary });
}
