import { builtInPrompts, type Prompts } from "../prompts.ts";
import { defineTemplate } from "../template.ts";

/** What follows a reply that only announces. */
export const incompleteReply = defineTemplate({
  name: "incomplete_reply",
  title: { en: "After an unfinished reply", zh: "未完成的回复之后" },
  description: "Makes the model go on when its reply announces work and then stops.",
  content: [
    "Your last reply says what you are about to do and then stops. Do it now, or, if nothing is left to do, give the user your",
    "answer in whole sentences.",
  ].join("\n"),
});

/** Makes the model go on when its reply announces work and then stops. */
export function incompleteReplyPrompt(prompts: Prompts = builtInPrompts): string {
  return prompts.text(incompleteReply, {});
}
