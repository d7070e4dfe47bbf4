import { builtInPrompts, type Prompts } from "../prompts.ts";
import { defineTemplate } from "../template.ts";

/** What tells the model that its rounds run out. */
export const roundsLeft = defineTemplate({
  name: "iteration_warning",
  title: { en: "Few rounds left", zh: "剩余轮次提醒" },
  description: "The hurry-up note from the tenth iteration on.",
  required: ["used", "left"],
  content: "Note: {used} rounds are used, {left} are left. Finish the essential part now and answer.",
});

/** The hurry-up note from the tenth iteration on. */
export function iterationWarning(
  { used, left }: { used: number; left: number },
  prompts: Prompts = builtInPrompts,
): string {
  return prompts.text(roundsLeft, { used, left });
}
