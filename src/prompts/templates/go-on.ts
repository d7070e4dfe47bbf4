import { builtInPrompts, type Prompts } from "../prompts.ts";
import { defineTemplate } from "../template.ts";

/** The few words between two replies of one turn. */
export const goOnTemplate = defineTemplate({
  name: "go_on",
  title: { en: "Between two replies", zh: "两次回复之间" },
  description: "Stands between two replies of one turn, where a forced continuation came between them.",
  content: "Go on.",
});

/** Stands in the view between two replies of one turn, where a forced continuation came between them. */
export function goOn(prompts: Prompts = builtInPrompts): string {
  return prompts.text(goOnTemplate, {});
}
