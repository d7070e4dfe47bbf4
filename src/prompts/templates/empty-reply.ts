import { builtInPrompts, type Prompts } from "../prompts.ts";
import { defineTemplate } from "../template.ts";

/** The prompt after an empty reply. */
export const emptyReply = defineTemplate({
  name: "empty_reply",
  title: { en: "After an empty reply", zh: "空回复之后" },
  description: "Makes the model answer after a reply without words and without calls.",
  content: "Your last reply was empty. Answer the user in their language now, or use the tool you need.",
});

/** Makes the model answer after a reply without words and without calls. */
export function emptyReplyPrompt(prompts: Prompts = builtInPrompts): string {
  return prompts.text(emptyReply, {});
}
