import { jsonFormat } from "../output-formats.ts";
import { builtInPrompts, type Prompts } from "../prompts.ts";
import { defineTemplate } from "../template.ts";

/** Infer first, then ask. */
export const clarify = defineTemplate({
  name: "clarify",
  title: { en: "Question about an unclear request", zh: "澄清不明确的请求" },
  description: "Asks for the best guess at an unclear request and one or two questions about it.",
  optional: ["tools"],
  format: jsonFormat,
  content: [
    "The user's last message does not say what it is about. Infer from all you know of the user and the conversation what",
    "they most likely want, and choose sensible defaults (topic, form of the result, place). Then ask at most two short,",
    "precise questions that are easy to answer, about what matters most. Never just ask for more detail. Suggest up to four",
    "answers of a few words each. Use the user's language.",
    "Tools at hand: {tools}.",
    'Answer: {"guess": "one sentence: what you take the request for", "defaults": ["topic: …", "form: …"],',
    '"questions": ["…?"], "suggestions": ["…"]}',
  ].join("\n"),
});

/** Asks for the best guess at an unclear request, and the one or two questions that matter; the answer is JSON. */
export function clarifyPrompt({ tools }: { tools: readonly string[] }, prompts: Prompts = builtInPrompts): string {
  return prompts.text(clarify, { tools: tools.join(", ") });
}
