import { builtInPrompts, type Prompts } from "../prompts.ts";
import { defineTemplate } from "../template.ts";

/** The number of rounds left. */
export const iterationWarningTemplate = defineTemplate({
  name: "iteration_warning",
  title: { en: "Few rounds left", zh: "剩余轮次提醒" },
  description: "Says how many rounds are left, once nine tenths of them are used or from soft_warning_at on.",
  required: ["used", "left"],
  content: "Note: {used} rounds are used, {left} are left. Finish the essential part now and answer.",
});

/** The note with the number of rounds left. */
export function iterationWarning(
  { used, left }: { used: number; left: number },
  prompts: Prompts = builtInPrompts,
): string {
  return prompts.text(iterationWarningTemplate, { used, left });
}
