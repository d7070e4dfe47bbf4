import { builtInPrompts, type Prompts } from "../prompts.ts";
import { jsonFormat } from "../output-formats.ts";
import { defineTemplate } from "../template.ts";

/** PROMPT_INTENT_ANALYSIS: what a request wants. */
export const intent = defineTemplate({
  name: "intent",
  title: { en: "Intent of a message", zh: "意图分析" },
  description: "Asks what the user wants and where the turn should go.",
  optional: ["tools"],
  marker: "task: intent",
  format: jsonFormat,
  content: [
    "Decide how the assistant should handle the user's last message. Choose one route:",
    '- "reply": thanks, small talk, or a question that needs no tool.',
    '- "free_work": a request that the assistant can work out as it goes, with tools where needed.',
    '- "plan": several goals, or several steps that depend on each other.',
    '- "action": one clear instruction that one tool carries out.',
    "Say also its kind (information, action, emotional, unclear, multi_intent), how far the user expects it to go (view: only",
    "look; partial: a part; full: all of it), what matters most to the user, and needs that are not said but follow.",
    "Tools at hand: {tools}.",
    'Answer with JSON only: {"route": "reply" | "free_work" | "plan" | "action", "reason": "a few words", "kind": "…",',
    '"extent": "view" | "partial" | "full", "priorities": [], "implicit_needs": []}',
  ].join("\n"),
});

/** Asks what the user wants and where the turn should go; the answer is JSON. */
export function intentPrompt({ tools }: { tools: readonly string[] }, prompts: Prompts = builtInPrompts): string {
  return prompts.text(intent, { tools: tools.join(", ") });
}
