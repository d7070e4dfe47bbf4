import { builtInPrompts, type Prompts } from "../prompts.ts";
import { defineTemplate } from "../template.ts";

/** Warns the model of a loop; the reasons are in `loop-reasons.ts`. */
export const loopNoteTemplate = defineTemplate({
  name: "loop_note",
  title: { en: "Going in circles", zh: "循环提醒" },
  description: "The note about calls or replies that go in a circle, with what to do instead.",
  required: ["reason"],
  optional: ["suggestions"],
  content: ["Note: {reason}", "{suggestions}"].join("\n"),
});

/** The note about calls or replies that go in a circle. It travels with one model call only. */
export function loopNote(
  { reason, suggestions }: { reason: string; suggestions: string[] },
  prompts: Prompts = builtInPrompts,
): string {
  return prompts.text(loopNoteTemplate, {
    reason,
    suggestions: suggestions.map((suggestion) => `- ${suggestion}`).join("\n"),
  });
}
