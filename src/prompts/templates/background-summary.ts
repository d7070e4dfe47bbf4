import { builtInPrompts, type Prompts } from "../prompts.ts";
import { defineTemplate } from "../template.ts";

/** What runs and has run in the background. */
export const backgroundSummary = defineTemplate({
  name: "background_summary",
  title: { en: "Background work", zh: "后台任务" },
  description: "What runs in the background, as a fact.",
  required: ["summary"],
  content: "Background work now: {summary}",
});

/** The model's note on background work, separate from the system text. */
export function backgroundNote({ summary }: { summary: string }, prompts: Prompts = builtInPrompts): string {
  return prompts.text(backgroundSummary, { summary });
}
