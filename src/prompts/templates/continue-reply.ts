import { builtInPrompts, type Prompts } from "../prompts.ts";
import { defineTemplate } from "../template.ts";

/** What takes a reply up where it was cut off. */
export const continueReplyTemplate = defineTemplate({
  name: "continue_reply",
  title: { en: "Rest of a reply that was cut off", zh: "续写中断的回复" },
  description: "Asks for what is missing of the last reply, from its very next character.",
  content: [
    "Your last reply was cut off. Write only what is missing, beginning with the very next character.",
    "Repeat nothing of it, and say nothing about the interruption.",
  ].join("\n"),
});

/** Asks for the rest of a reply that was cut off; it is appended as it comes. */
export function continueReply(prompts: Prompts = builtInPrompts): string {
  return prompts.text(continueReplyTemplate, {});
}
