import { builtInPrompts, type Prompts } from "../prompts.ts";
import { defineTemplate } from "../template.ts";

/** PROMPT_SUMMARIZE_CONVERSATION: the structured summary. */
export const compress = defineTemplate({
  name: "compress",
  title: { en: "Summary of older messages", zh: "旧消息摘要" },
  description: "Asks for the structured summary that stands for older messages.",
  optional: ["previous"],
  content: [
    "Summarise the conversation so far, so that work can go on without the messages. Keep names of files, decisions, numbers",
    "and open questions. At most 1000 characters in all.",
    "It continues this earlier summary, which yours replaces: {previous}",
    "Answer with JSON only:",
    '{"goal": "…", "completed": ["…"], "todo": ["…"], "attempted_solutions": ["…"], "current_problem": "…", "key_decisions": ["…"]}',
  ].join("\n"),
});

/** Asks for the structured summary of older messages; the answer is JSON. */
export function compressPrompt({ previous }: { previous: string | null }, prompts: Prompts = builtInPrompts): string {
  return prompts.text(compress, { previous });
}

/** Follows the messages to summarise: some providers refuse a conversation that ends with a reply. */
export const summariseNow = defineTemplate({
  name: "compress_now",
  title: { en: "Summary: the request", zh: "旧消息摘要：请求" },
  description: "Ends the request for a summary.",
  content: "Write the summary of the conversation above now.",
});
