import { builtInPrompts, type Prompts } from "../prompts.ts";
import { defineTemplate } from "../template.ts";

/** How a request becomes steps. */
export const plan = defineTemplate({
  name: "plan",
  title: { en: "Plan of a request", zh: "任务分解" },
  description: "Asks for a plan of the request: steps, tools and dependencies.",
  optional: ["tools", "problem"],
  marker: "task: plan",
  content: [
    "Break the user's last message into the fewest steps that do it, at most ten, in an order that works.",
    "Each step says its goal in the user's words and language, complete enough to be done on its own; the tool it mainly",
    "needs, or null; its input in a few words; and the ids of the steps it needs to be done first.",
    "Tools at hand: {tools}.",
    'Answer with JSON only: {"goal": "…", "steps": [{"id": "1", "goal": "…", "tool": "…" | null, "input": "…", "depends_on": []}]}',
    "Your last answer could not be used: {problem}",
  ].join("\n"),
});

/** Asks for a plan of the request; the answer is JSON. `problem` says what was wrong with the last one. */
export function planPrompt(
  { tools, problem }: { tools: readonly string[]; problem: string | null },
  prompts: Prompts = builtInPrompts,
): string {
  return prompts.text(plan, { tools: tools.join(", "), problem });
}
