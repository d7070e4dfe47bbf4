import { builtInPrompts, type Prompts } from "../prompts.ts";
import { defineTemplate } from "../template.ts";

/** L1 of a direct reply. */
export const reply = defineTemplate({
  name: "reply",
  title: { en: "Direct reply", zh: "直接回复" },
  description: "A reply of a few sentences, without tools.",
  content: "Reply directly, in a few sentences. No tools are at hand for this reply.",
});

/** L1 of a direct reply: no tools, a few sentences. */
export function replyPrompt(prompts: Prompts = builtInPrompts): string {
  return prompts.text(reply, {});
}
